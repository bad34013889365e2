import hashlib
from typing import Any

from experiments.harness.row import document_digest


def document(**more: Any) -> dict[str, Any]:
    return {"name": "small", "nodes": {"b": {"kind": "host"}, "a": {"kind": "host"}}, "links": [], **more}


def test_a_digest_is_that_of_text_which_others_can_write() -> None:
    text = '{"links":[],"name":"sm\\u00e5ll","nodes":[["b",{"kind":"host"}],["a",{"kind":"host"}]]}'
    assert document_digest(document(name="småll")) == hashlib.sha256(text.encode()).hexdigest()[:16]


def test_it_is_another_when_a_value_or_the_order_of_nodes_is_another() -> None:
    """The order of nodes gives them their addresses."""
    other_order = {"a": {"kind": "host"}, "b": {"kind": "host"}}
    digests = {document_digest(one) for one in (document(), document(links=[1]), document(nodes=other_order))}
    assert len(digests) == 3


def test_it_is_the_same_when_fields_are_written_in_another_order() -> None:
    assert document_digest(document(x={"p": 1, "q": [2]})) == document_digest({"x": {"q": (2,), "p": 1}, **document()})


def test_what_a_formula_is_told_has_one_too() -> None:
    assert document_digest({"nodes": 3}) != document_digest({"nodes": 4})
