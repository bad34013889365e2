"""Types that are strings for the controller (specification, "Translation of Numbers")."""

import re
from typing import Any

import pytest
from finsy.proto import p4i, p4r, rpc_code

from engine.switch.p4runtime.datapath import MemoryDataPath
from engine.switch.p4runtime.p4info import PacketHeaderInfo, ParamInfo
from engine.switch.p4runtime.packet_io import decode_packet_in, encode_packet_out, packet_header
from engine.switch.p4runtime.pipeline import Pipeline, build_pipeline
from engine.switch.p4runtime.reconcile import carry_over
from engine.switch.p4runtime.translation import Names
from tests.engine.entities import Bench, action, config, id_of, refused, table_entry

MAPPINGS = '@p4runtime_translation_mappings({ {"", 0}, {"a \\"b\\"", 0x7} })'


def test_what_the_program_says_a_decimal_and_any_other_string() -> None:
    names = Names(["@other", MAPPINGS])
    assert [names.number(text.encode(), 4, "x") for text in ("", 'a "b"', "3", "up", "down", "up")] == [
        0,
        7,
        3,
        15,
        14,
        15,
    ]
    assert [names.text(number) for number in (0, 7, 3, 15, 14, 5)] == [b"", b'a "b"', b"3", b"up", b"down", b"5"]


def test_strings_and_numbers_belong_to_each_other_for_good() -> None:
    names = Names([MAPPINGS])
    assert names.number(b"up", 2, "x") == 3
    with refused(rpc_code.INVALID_ARGUMENT, "x: 3 is called 'up'"):
        names.number(b"3", 2, "x")
    assert names.text(2) == b"2"  # the controller knows it by this name now
    assert names.number(b"down", 2, "x") == 1
    with refused(rpc_code.RESOURCE_EXHAUSTED, "x: all numbers of 2 bits have strings"):
        names.number(b"left", 2, "x")


@pytest.mark.parametrize(
    ("value", "code", "why"),
    [
        (b"\xff", rpc_code.INVALID_ARGUMENT, "is not UTF-8"),
        (b"x" * 1025, rpc_code.INVALID_ARGUMENT, "more than 1024 bytes"),
        (b"16", rpc_code.OUT_OF_RANGE, "x: 16 does not fit 4 bits"),
        (b"high", rpc_code.OUT_OF_RANGE, "'high' is 99, which does not fit 4 bits"),
    ],
)
def test_strings_that_are_refused(value: bytes, code: int, why: str) -> None:
    with refused(code, re.escape(why)):
        Names(['@p4runtime_translation_mappings({ {"high", 99} })']).number(value, 4, "x")


def test_numbers_with_leading_zeros_are_strings_like_others() -> None:
    assert Names().number(b"007", 9, "x") == 511


def test_there_is_a_limit_to_strings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.switch.p4runtime.translation._MAX_NAMES", 2)
    names = Names()
    assert [names.number(text, 32, "x") for text in (b"a", b"b")] == [2**32 - 1, 2**32 - 2]
    with refused(rpc_code.RESOURCE_EXHAUSTED, "no more have room"):
        names.number(b"c", 32, "x")


@pytest.mark.parametrize("pairs", ['{"a", 1}, {"a", 2}', '{"a", 1}, {"b", 1}'])
def test_a_mapping_that_contradicts_itself_is_refused(pairs: str) -> None:
    with refused(rpc_code.INVALID_ARGUMENT, "twice"):
        Names([f"@p4runtime_translation_mappings({{ {pairs} }})"])


def change(info: p4i.P4Info, owner: str, name: str, *annotations: str) -> None:
    """Give a match field or parameter a type of strings, as p4c does: without a width."""
    items: list[Any] = [*info.tables, *info.actions]
    found = next(item for item in items if item.preamble.alias == owner)
    part = next(p for p in (found.match_fields if isinstance(found, p4i.Table) else found.params) if p.name == name)
    part.type_name.name = f"{name}_t"
    part.ClearField("bitwidth")
    type_ = info.type_info.new_types[f"{name}_t"]
    type_.translated_type.sdn_string.SetInParent()
    type_.annotations.extend(annotations)


def translated() -> p4r.ForwardingPipelineConfig:
    """The test program with addresses and ports as strings."""
    changed = config()
    change(changed.p4info, "l2", "hdr.ethernet.dst", '@p4runtime_translation_mappings({ {"one", 1} })')
    change(changed.p4info, "forward", "port", '@p4runtime_translation_mappings({ {"left", 3} })')
    return changed


def entry(dst: bytes, port: bytes) -> p4r.TableEntry:
    message = table_entry("l2", {"dst": 0}, action("forward", port=0))
    message.match[0].exact.value = dst
    message.action.action.params[0].value = port
    return message


def bench_of(pipeline: Pipeline, path: MemoryDataPath) -> Bench:
    path.install(pipeline.switch)
    return Bench(pipeline, path)


def test_keys_and_parameters_are_strings() -> None:
    path = MemoryDataPath()
    bench = bench_of(build_pipeline(translated(), path), path)
    entries = [entry(b"one", b"left"), entry(b"two", b"4")]
    bench.insert(*entries)
    assert bench.read_table(p4r.TableEntry(table_id=id_of("l2"))) == entries
    assert bench.ports(1) == [3]
    assert bench.ports(2**48 - 1) == [4]
    bench.delete(entry(b"one", b""))
    assert bench.ports(1) == []


def test_a_reconciled_pipeline_goes_on_with_the_same_numbers() -> None:
    path = MemoryDataPath()
    old = bench_of(build_pipeline(translated(), path), path)
    old.insert(entry(b"first", b"4"), entry(b"second", b"5"))
    old.delete(entry(b"first", b""))
    new = build_pipeline(translated(), path)
    carry_over(old.pipeline, new)
    bench = bench_of(new, path)
    assert bench.ports(2**48 - 2) == [5]
    bench.insert(entry(b"first", b"6"))
    assert bench.ports(2**48 - 1) == [6]


def test_strings_match_exactly_only() -> None:
    changed = config()
    acl = next(table for table in changed.p4info.tables if table.preamble.alias == "acl")
    field = next(f for f in acl.match_fields if f.match_type == p4i.MatchField.TERNARY)
    change(changed.p4info, "acl", field.name)
    with refused(rpc_code.INVALID_ARGUMENT, "is of strings, which only match exactly"):
        build_pipeline(changed, MemoryDataPath())


def test_packet_metadata() -> None:
    names = Names()
    header = packet_header(
        PacketHeaderInfo((ParamInfo(1, "port", 0, translated=True, names=names),)), {("port",): (9,)}
    )
    message = p4r.PacketOut(payload=b"x")
    message.metadata.add(metadata_id=1, value=b"up")
    packet = encode_packet_out(message, header)
    assert packet == b"\xff\x80x"
    answer = decode_packet_in(b"\x02\x00y", header)
    assert answer is not None
    assert [m.value for m in answer.metadata] == [b"4"]
    message.metadata[0].value = b"512"
    with refused(rpc_code.INVALID_ARGUMENT, "512 does not fit 9 bits"):
        encode_packet_out(message, header)
