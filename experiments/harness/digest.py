"""Fingerprints of scenario documents, by which a kept result is told from one of another scenario."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any


def document_digest(document: Mapping[str, Any]) -> str:
    """SHA-256, in hex digits, of the document as canonical JSON: ASCII, keys sorted, no spaces.

    `nodes` are a list of [name, node] in their order there, which is what gives hosts their addresses; no other mapping
    of a scenario has an order that counts."""
    nodes = document.get("nodes")
    content = {**document, "nodes": list(nodes.items())} if isinstance(nodes, Mapping) else document
    return hashlib.sha256(json.dumps(content, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
