"""A small scenario with a bit of everything, and a single link, for tests that need one."""

from topologies.scenario import Scenario, parse_scenario
from topologies.scenario.network import DirectedLink

TEXT = """\
name: small
seed: 7
duration: 30 s
nodes:
  s1: {kind: p4}
  s2: {kind: p4}
  a: {kind: host}
  b: {kind: host, address: 10.0.0.1}
  c: {kind: host}
links:
  - {between: [a, s1], rate: 100 Mbps, delay: 1 ms}
  - {between: [s1, s2], rate: 10 Mbps, delay: 5 ms, queue: {kind: droptail, packets: 50}, ports: {s2: 7}}
  - {between: [s2, b], rate: 50 Mbps}
  - between: [s2, c]
    rate: 20 Mbps
    toward:
      c: {loss: 1 %, queue: {kind: red, bytes: 64 kB, min_threshold: 9000, max_threshold: 30000}}
sessions:
  - id: 3
    protocol: mtcp
    sender: a
    group: 232.1.0.3
    port: 5003
    size: 1 MB
    receivers: [b, {host: c, join: 2 s, leave: 9 s}]
    parameters: {alpha: 3}
  - id: 4
    protocol: mtcp
    sender: b
    group: 239.1.0.4
    membership: any-source
    port: 5004
    file: payload
    start: 1 s
    receivers: [c]
    slow_receivers: {drop_after: 4 s}
traffic:
  - {kind: tcp, source: a, destination: b, congestion_control: cubic}
  - {kind: udp, source: a, destination: c, rate: 1 Mbps, start: 1 s, stop: 5 s}
  - {kind: on-off, source: b, destination: a, rate: 2 Mbps, on: 100 ms, off: 300 ms}
faults:
  - {kind: switch-restart, at: 3 s, switch: s2, outage: 500 ms}
  - {kind: receiver-dies, at: 4 s, session: 3, host: c}
  - {kind: link-down, at: 6 s, link: [s2, s1], duration: 1 s}
  - {kind: controller-restart, at: 8 s, outage: 2 s}
"""


def small_scenario() -> Scenario:
    """The scenario of `TEXT`."""
    return parse_scenario(TEXT, "small.yaml")


def link(fields: str) -> DirectedLink:
    """A directed link from a host to a switch, as a scenario would have it."""
    text = f"""\
name: one
duration: 1 s
nodes:
  s: {{kind: p4}}
  h: {{kind: host}}
links:
  - {{between: [h, s], {fields}}}
"""
    return parse_scenario(text).links[0].direction("s")
