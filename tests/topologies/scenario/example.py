"""A scenario with some of everything, and the same with a mistake."""

GOOD = """\
name: two-leaves
duration: 10 s
nodes:
  s1: {kind: p4}
  a: {kind: host}
  b: {kind: host, address: 10.0.7.7}
  c: {kind: host}
links:
  - {between: [a, s1], rate: 10 Mbps, delay: 5 ms}
  - {between: [s1, b]}
  - between: [s1, c]
    ports: {s1: 9}
    toward:
      c: {loss: 1 %, rate: 1 Mbps, queue: {kind: red, bytes: 64 kB, min_threshold: 9000, max_threshold: 30000}}
sessions:
  - id: 7
    protocol: mtcp
    sender: a
    group: 232.1.0.7
    port: 5007
    size: 1 MB
    receivers:
      - b
      - {host: c, join: 1 s, leave: 5 s}
traffic:
  - {kind: tcp, source: a, destination: b, congestion_control: cubic}
  - {kind: on-off, source: a, destination: c, rate: 1 Mbps, on: 500 ms, off: 1 s}
faults:
  - {kind: switch-restart, at: 2 s, switch: s1}
  - {kind: link-down, at: 2 s, link: [s1, a], duration: 1 s}
  - {kind: receiver-dies, at: 3 s, session: 7, host: c}
  - {kind: controller-restart, at: 4 s}
"""


def change(old: str, new: str) -> str:
    """The scenario with something in place of the first `old`."""
    assert GOOD.count(old) >= 1
    return GOOD.replace(old, new, 1)
