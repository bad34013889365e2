"""What all rows of MTCP share: one setting of what the paper leaves open, sessions, and links.

"Ours" marks what the paper's text does not say (or lost); it is the same in all rows."""

from collections.abc import Mapping, Sequence
from typing import Any

from experiments.harness.row import Document

PAPER = "mtcp"
PAYLOAD_BYTES = 256
"""Of the paper's simulations (our reading; it gives no size). Fig. 9's "data throughput (not including header and other
control overhead)" of 125 KB/s is what MTCP has when it "is successful in capturing the available network bandwidth" of
1.5 Mbps (4.1.2): so a good part of the link carries headers. They are 64 bytes a packet here, with IP's and UDP's: a
full link carries 167 KB/s of data with packets of 512 bytes, and 150 with 256."""
INTERNET_PAYLOAD_BYTES = 1400
"""Of its Internet experiments, Figs. 6, 7 and 10 to 14 (ours): a full Ethernet frame, as the TCP beside them sends."""
GROUP = "232.1.0.{}"
QUEUE = {"kind": "droptail", "packets": 20}
"""Of simulated links: that of the paper's random topology (4.3), in all rows where the text has none (ours)."""
LAN = {"queue": {"kind": "droptail", "packets": 1000}}
"""From a host to its router or switch: nothing that delays, loses or limits."""

PAPER_PARAMETERS = {"rules": "paper"}
"""Of every session of MTCP in a paper's network: what its text has, without what the default adds (docs/mtcp.md)."""
SENDING = {"most": "1 ms"}
"""Of simulated senders where nothing else is random (ours): before each packet, against DropTail's phase effects."""

Tree = Mapping[str, Sequence[str]]
"""Parent -> children, by hosts' names."""


def session(
    sender: str,
    receivers: Sequence[str],
    size: int,
    *,
    tree: Tree | None = None,
    number: int = 1,
    payload: int = PAYLOAD_BYTES,
    **fields: Any,
) -> dict[str, Any]:
    """A session that sends `size` bytes. Without a tree every receiver is the sender's child."""
    logical = {} if tree is None else {"tree": {parent: list(children) for parent, children in tree.items()}}
    return {
        "id": number,
        "protocol": "mtcp",
        "sender": sender,
        "group": GROUP.format(number),
        "port": 5000 + number,
        "size": f"{size} B",
        "receivers": list(receivers),
        "parameters": {"payload_bytes": payload, **PAPER_PARAMETERS},
        **logical,
        **fields,
    }


def ns2_tcp(**fields: Any) -> dict[str, Any]:
    """The papers' TCP: 1,000-byte packets, each acknowledged, and no limit of the window."""
    return {"packet": "1000 B", "delayed_ack": "0 s", "initial_window": 1, **fields}


def assisted(document: Document) -> Document:
    """The same scenario with help of the switches: P4 switches in place of plain routers, which cannot."""
    nodes = {
        name: {**node, "kind": "p4"} if node["kind"] == "router" else node for name, node in document["nodes"].items()
    }
    sessions = [{**one, "assist": "switch"} for one in document["sessions"]]
    return {**document, "nodes": nodes, "sessions": sessions}


def enough(rate_bps: float, seconds: float) -> int:
    """Bytes that a link of this rate cannot bring within that time: a session without an end."""
    return int(rate_bps / 8 * seconds * 1.05)
