"""Digest lists, acknowledgements and duplicates, with a clock moved by hand; times in seconds."""

import pytest
from finsy.proto import p4d, p4r, p4t, rpc_code
from google.protobuf import text_format

from engine.switch.p4runtime.digests import MAX_CACHED_MESSAGES, Digest
from engine.switch.p4runtime.errors import P4RuntimeError
from engine.switch.p4runtime.p4data import P4DataCodec
from engine.switch.p4runtime.p4info import DigestInfo
from engine.switch.p4runtime.program import Program
from tests.engine.entities import DELETE, INSERT, MODIFY, Bench, frame, id_of, raw, refused

SECOND = 1_000_000_000
PROGRAM = Program(
    {}, {}, frozenset(), {}, {}, {}, {}, frozenset(), {"color_t": {0: "RED", 1: "BLUE"}}, {3: "NoMatch"}, {}
)


def codec(text: str = "") -> P4DataCodec:
    return P4DataCodec(text_format.Parse(text, p4t.P4TypeInfo()), PROGRAM)


def digest(max_list_size: int = 0, max_timeout_ns: int = 0, ack_timeout_ns: int = 0) -> Digest:
    """A digest of one 16-bit number, enabled."""
    spec = text_format.Parse("bitstring { bit { bitwidth: 16 } }", p4t.P4DataTypeSpec())
    made = Digest(DigestInfo(9, "d", spec), codec().builder(spec, "d"))
    config = p4r.DigestEntry.Config(
        max_list_size=max_list_size, max_timeout_ns=max_timeout_ns, ack_timeout_ns=ack_timeout_ns
    )
    made.insert(p4r.DigestEntry(digest_id=9, config=config))
    return made


def message(number: int) -> tuple[bytes, ...]:
    return (number.to_bytes(2, "big"),)


def numbers(digest_list: p4r.DigestList | None) -> list[int]:
    assert digest_list is not None
    return [int.from_bytes(data.bitstring, "big") for data in digest_list.data]


def test_without_timeout_each_message_is_sent_at_once() -> None:
    d = digest()
    first, second = d.learn(message(1), 0.0), d.learn(message(1), 0.0)
    assert numbers(first) == [1]
    assert numbers(second) == [1]
    assert first is not None
    assert second is not None
    assert first.digest_id == 9
    assert first.list_id != second.list_id


def test_a_list_is_sent_when_it_is_full() -> None:
    d = digest(max_list_size=3, max_timeout_ns=10 * SECOND)
    assert d.learn(message(1), 0.0) is None
    assert d.learn(message(2), 0.0) is None
    assert d.learn(message(1), 0.0) is None, "a duplicate does not count"
    assert numbers(d.learn(message(3), 0.0)) == [1, 2, 3]


def test_a_list_is_sent_when_its_first_message_has_waited_long_enough() -> None:
    d = digest(max_list_size=10, max_timeout_ns=2 * SECOND)
    d.learn(message(1), 5.0)
    d.learn(message(2), 6.0)
    assert d.wake_at() == 7.0
    assert d.poll(6.9) is None
    assert numbers(d.poll(7.0)) == [1, 2]
    assert d.wake_at() is None


def test_unacknowledged_messages_are_suppressed_until_the_timeout() -> None:
    d = digest(ack_timeout_ns=3 * SECOND)
    assert numbers(d.learn(message(1), 0.0)) == [1]
    assert d.learn(message(1), 1.0) is None
    assert numbers(d.learn(message(2), 1.0)) == [2]
    assert d.wake_at() == 3.0
    d.poll(3.0)
    assert numbers(d.learn(message(1), 3.0)) == [1]
    assert d.learn(message(2), 3.0) is None
    assert d.wake_at() == 4.0


def test_an_acknowledgement_ends_the_suppression() -> None:
    d = digest(ack_timeout_ns=100 * SECOND)
    sent = d.learn(message(1), 0.0)
    assert sent is not None
    d.acknowledge(sent.list_id + 1)
    assert d.learn(message(1), 0.0) is None
    d.acknowledge(sent.list_id)
    d.acknowledge(sent.list_id)
    assert numbers(d.learn(message(1), 0.0)) == [1]


def test_another_primary_has_seen_nothing() -> None:
    d = digest(ack_timeout_ns=100 * SECOND)
    d.learn(message(1), 0.0)
    d.forget_all()
    assert numbers(d.learn(message(1), 0.0)) == [1]


def test_what_waits_for_acknowledgement_is_bounded() -> None:
    d = digest(ack_timeout_ns=100 * SECOND)
    for number in range(MAX_CACHED_MESSAGES + 10):
        d.learn((number.to_bytes(4, "big"),), 0.0)
    assert len(d.sent) == MAX_CACHED_MESSAGES
    assert d.learn(((9).to_bytes(4, "big"),), 0.0) is not None, "the oldest are forgotten"


def test_a_digest_is_disabled_at_first_and_after_delete() -> None:
    d = digest(max_list_size=5, max_timeout_ns=SECOND)
    d.learn(message(1), 0.0)
    undo = d.delete()
    assert d.learn(message(2), 0.0) is None
    assert d.poll(10.0) is None
    with pytest.raises(P4RuntimeError):
        d.message()
    undo()
    assert d.message().config.max_list_size == 5


def test_configuration_over_p4runtime(bench: Bench) -> None:
    entry = raw.DigestEntry(digest_id=id_of("learned_t"), config={"max_list_size": 2, "max_timeout_ns": 3})
    for kind in (MODIFY, DELETE):
        with refused(rpc_code.NOT_FOUND):
            bench.apply(kind, entry)
    bench.insert(entry)
    with refused(rpc_code.ALREADY_EXISTS):
        bench.insert(entry)
    assert [e.digest_entry for e in bench.read(p4r.DigestEntry())] == [entry]
    changed = raw.DigestEntry(digest_id=id_of("learned_t"), config={"ack_timeout_ns": 9})
    bench.modify(changed)
    assert bench.read(entry)[0].digest_entry == changed
    with refused(rpc_code.INVALID_ARGUMENT, "negative"):
        bench.apply(MODIFY, raw.DigestEntry(digest_id=id_of("learned_t"), config={"max_list_size": -1}))
    with refused(rpc_code.INVALID_ARGUMENT):
        bench.apply(INSERT, p4r.DigestEntry(digest_id=1))
    bench.delete(entry)
    assert bench.read(p4r.DigestEntry()) == []


def test_the_data_planes_fields_become_the_structs_members(bench: Bench) -> None:
    bench.insert(p4r.DigestEntry(digest_id=id_of("learned_t")))
    bench.path.process(4, frame(1, src=0x0200))
    _, events = bench.path.wait_events(0)
    made = bench.pipeline.digests[id_of("learned_t")].learn(tuple(events[0]["values"][0]), 0.0)
    assert made is not None
    assert [m.bitstring for m in made.data[0].struct.members] == [b"\x02\0", b"\x04"]


@pytest.mark.parametrize(
    ("spec", "fields", "expected"),
    [
        ("bitstring { int { bitwidth: 12 } }", [b"\x0d\x1d"], 'bitstring: "\\xfd\\x1d"'),
        ("bool {}", [b"\x01"], "bool: true"),
        (
            'struct { name: "outer_t" }',
            [b"\0\x01", b"\0"],
            'struct { members { bitstring: "\\1" } members { tuple {} } members { bool: false } }',
        ),
        ('header { name: "h_t" }', [b"\x07"], 'header { is_valid: true bitstrings: "\\7" }'),
        ('serializable_enum { name: "s_t" }', [b"\0\x02"], 'enum_value: "\\2"'),
        ('enum { name: "color_t" }', [b"\x01"], 'enum: "BLUE"'),
        ('enum { name: "color_t" }', [b"\x09"], 'enum: "9"'),
        ("error {}", [b"\x03"], 'error: "NoMatch"'),
        ('new_type { name: "n_t" }', [b"\0\x05"], 'bitstring: "\\5"'),
        ('new_type { name: "t_t" }', [b"\0\x05"], 'bitstring: "\\5"'),
    ],
)
def test_values_of_p4_types(spec: str, fields: list[bytes], expected: str) -> None:
    types = """
        structs { key: "outer_t" value {
            members { name: "a" type_spec { bitstring { bit { bitwidth: 16 } } } }
            members { name: "b" type_spec { tuple {} } }
            members { name: "c" type_spec { bool {} } } } }
        headers { key: "h_t" value { members { name: "x" type_spec { bit { bitwidth: 8 } } } } }
        new_types { key: "n_t" value { original_type { bitstring { bit { bitwidth: 16 } } } } }
        new_types { key: "t_t" value { translated_type { uri: "u" sdn_bitwidth: 32 } } }
    """
    builder = codec(types).builder(text_format.Parse(spec, p4t.P4DataTypeSpec()), "d")
    assert builder(iter(fields)) == text_format.Parse(expected, p4d.P4Data())


@pytest.mark.parametrize("spec", ["bitstring { varbit { max_bitwidth: 9 } }", "header_stack {}", ""])
def test_types_that_no_digest_carries(spec: str) -> None:
    with refused(rpc_code.UNIMPLEMENTED, "d:"):
        codec().builder(text_format.Parse(spec, p4t.P4DataTypeSpec()), "d")
