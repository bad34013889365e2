"""A receiver's session: tables and objects in any order, and all that a sender may do to it."""

from pathlib import Path
from random import Random

import pytest

from hosts.endpoint import KeepFile
from hosts.programs.shelf import FolderShelf
from hosts.protocols.webrc.flute.carousel import LIFETIME_S, Carousel
from hosts.protocols.webrc.flute.content import content_of
from hosts.protocols.webrc.flute.received import Choice, Received
from hosts.protocols.webrc.flute.reception import EARLY_COST, Reception
from hosts.protocols.webrc.flute.transmission import NO_CODE, RAPTORQ, REED_SOLOMON, Transmission
from hosts.protocols.webrc.packets import FDT_TOI, Alc
from hosts.wire.header import PacketError
from hosts.wire.manifest import FileError, Manifest

RNG = Random(8)
DATA = Random(9).randbytes(2000)
SMALL = {f"file {number}": RNG.randbytes(300 * number) for number in range(12)}


def carousel(files: dict[str, bytes], scheme: int = RAPTORQ, **how: object) -> Carousel:
    found = Carousel(scheme, symbol=100, table=160, **how)  # type: ignore[arg-type]
    for name, data in files.items():
        found.add(content_of(name, data))
    return found


def table(sender: Carousel, now: float = 0.0) -> Alc:
    found = sender.next_table(now)
    return Alc(
        1,
        0,
        0,
        1,
        toi=FDT_TOI,
        encoding=found.scheme,
        payload_id=found.payload_id,
        symbol=found.symbol,
        fdt_instance=found.instance,
        fti=found.fti,
        content_encoding=found.content_encoding,
        sent_ntp=found.sent_ntp,
    )


def symbol(sender: Carousel, channel: int = 0) -> Alc:
    found = sender.next_symbols(channel, 1)
    assert found is not None
    toi, scheme, payload_id, (data,) = found
    return Alc(1, 0, channel, 1, toi=toi, encoding=scheme, payload_id=payload_id, symbol=data)


def take(reception: Reception, packets: list[Alc], now: float = 0.0) -> dict[str, bytes]:
    found: list[Received] = []
    for packet in packets:
        found += reception.add(packet, now)
    return {file.manifest.name: file.data for file in found}


@pytest.mark.parametrize("scheme", [RAPTORQ, REED_SOLOMON, NO_CODE])
def test_several_files_and_a_table_of_several_symbols_in_any_order(scheme: int) -> None:
    sender = carousel(SMALL, scheme)
    sender.end()
    tables, symbols = [table(sender) for _ in range(60)], [symbol(sender, 3) for _ in range(900)]
    assert {packet.content_encoding for packet in tables} == {3}  # it is compressed when one packet has no room for it
    for packets in (tables + symbols, symbols + tables, RNG.sample(tables + symbols, 960)):
        reception = Reception()
        assert take(reception, packets) == SMALL
        assert not reception.has_all, "anybody may have said that there is no more"
        take(reception, tables, 1.5)
        assert reception.has_all
        assert reception.decoder is not None


def came(sender: Carousel) -> dict[str, int]:
    """With which packet each file was whole."""
    reception, seen = Reception(), {}
    take(reception, [table(sender) for _ in range(300)])
    for number in range(1400):
        for name in take(reception, [symbol(sender)]):
            seen[name] = number
    return seen


def test_small_files_come_early_and_the_sooner_with_priority() -> None:
    sender = carousel({"a": RNG.randbytes(40_000), "b": RNG.randbytes(400)})
    sender.add(content_of("c", RNG.randbytes(40_000), priority=2.0))
    seen = came(sender)
    assert seen["c"] < 0.7 * seen["a"]
    assert seen["b"] < 0.2 * seen["a"]


def test_many_small_files_keep_a_large_one_back_by_a_quarter_at_most() -> None:
    seen = came(carousel({"a": RNG.randbytes(96 * 400), **{f"{n}": RNG.randbytes(96 * 30) for n in range(20)}}))
    assert len(seen) == 21
    assert max(seen.values()) < 1.05 * 1.25 * (400 + 20 * 30)


def test_new_files_come_with_another_instance_and_old_ones_go() -> None:
    sender = carousel({"a": b"1" * 500})
    reception = Reception()
    first = [table(sender) for _ in range(8)]
    assert take(reception, first + [symbol(sender) for _ in range(20)]) == {"a": b"1" * 500}
    assert not reception.has_all  # nobody said that there is no more
    sender.remove([1])
    sender.add(content_of("b", b"2" * 700))
    sender.end()
    second = [table(sender) for _ in range(8)]
    assert second[0].fdt_instance != first[0].fdt_instance
    assert take(reception, second + [symbol(sender) for _ in range(20)]) == {"b": b"2" * 700}
    take(reception, second, 1.5)
    assert reception.has_all


def test_what_the_sender_takes_out_is_not_waited_for_and_leaves_nothing() -> None:
    sender = carousel({"a": b"1" * 5000, "b": b"2" * 500})
    reception = Reception()
    first = [table(sender) for _ in range(12)]
    take(reception, first + [symbol(sender) for _ in range(8)])
    sender.remove([1])
    sender.end()
    second = [table(sender) for _ in range(12)]
    assert take(reception, second + [symbol(sender) for _ in range(20)]) == {"b": b"2" * 500}
    assert not reception.has_all, "one table may be a stranger's"
    take(reception, second, 0.2)
    assert not reception.has_all, "or its repeat"
    take(reception, second, 0.3)
    assert reception.has_all_described
    assert not reception._objects
    take(reception, second, 1.5)
    assert reception.has_all
    again = Reception()  # instances that overtake each other: the later one counts
    take(again, second + first)
    assert again._full == second[0].fdt_instance


@pytest.mark.parametrize(("choice", "names"), [(Choice("*.b"), {"a.b", "c.b"}), (Choice("*.b", newest=True), {"c.b"})])
def test_a_receiver_may_choose(choice: Choice, names: set[str]) -> None:
    sender = carousel({"a.b": b"1" * 500, "b.a": b"2" * 500, "c.b": b"3" * 500, "d": b"4" * 500})
    sender.end()
    reception = Reception(choice=choice)
    found = take(reception, [table(sender) for _ in range(20)] + [symbol(sender) for _ in range(80)])
    assert set(found) == names
    take(reception, [table(sender) for _ in range(20)], 1.5)
    assert reception.has_all
    sender.add(content_of("e.b", b"5" * 300))
    later = [table(sender) for _ in range(20)] + [symbol(sender) for _ in range(80)]
    assert set(take(reception, later)) == {"e.b"}


def test_symbols_beyond_the_bound_wait_on_the_shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hosts.protocols.webrc.flute.reception.HELD_BYTES", 20_000)
    files = {"a": RNG.randbytes(30_000), "b": RNG.randbytes(30_000)}
    sender = carousel(files)
    sender.end()
    kept: list[Manifest] = []
    resumed = 0
    while len(kept) < 2:
        reception = Reception(shelf=FolderShelf(tmp_path, "refuse", lambda manifest, cache: kept.append(manifest)))
        packets = [table(sender) for _ in range(8)] + [symbol(sender) for _ in range(200)]
        for number, packet in enumerate(packets):
            for file in reception.add(packet, 0.0):
                effect = file.effect(0)
                assert isinstance(effect, KeepFile)
                effect.room.keep(effect.manifest, effect.pieces)
            assert reception._held <= 20_000 + 100 * 300
            if number == 150:
                reception.flush()
                assert reception._held == 0
        reception.flush()
        resumed += reception.counters["resumed_symbols"]
    assert resumed > 0
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == files


def test_instances_expire_by_the_sender_s_clock_or_one_s_own_and_are_renewed() -> None:
    sender = carousel({"a": b"1" * 500}, ntp_at_zero=4e9)
    tables = [table(sender) for _ in range(10)]
    late = LIFETIME_S + 2
    for reception, sent in ((Reception(4e9), None), (Reception(), int(4e9 + late))):
        old = [packet._replace(sent_ntp=sent) for packet in tables]
        assert take(reception, old + [symbol(sender) for _ in range(20)], late) == {}
        assert reception.counters["expired"]
        renewed = [table(sender, late) for _ in range(10)]
        assert renewed[0].fdt_instance != tables[0].fdt_instance
        assert take(reception, renewed, late) == {"a": b"1" * 500}
    reception = Reception(4e9)
    take(reception, tables)
    assert take(reception, [symbol(sender) for _ in range(20)], late) == {}


def test_what_is_not_as_the_table_says_is_given_up_and_received_again() -> None:
    sender, other = carousel({"a": b"1" * 500}), carousel({"a": b"2" * 500})
    reception = Reception()
    take(reception, [table(sender) for _ in range(8)])
    assert take(reception, [symbol(other) for _ in range(6)]) == {}
    assert reception.counters["damaged_files"] == 1
    assert take(reception, [symbol(sender) for _ in range(9)]) == {"a": b"1" * 500}
    take(reception, [table(other)._replace(fdt_instance=9) for _ in range(8)])
    assert reception.counters["contradicted_files"] == 1


def test_a_name_that_no_folder_takes_is_refused_when_it_is_said_again() -> None:
    sender = carousel({"..": b"1" * 10, "a": b"2" * 10})
    sender.end()
    reception = Reception()
    packets = [table(sender) for _ in range(8)] + [symbol(sender) for _ in range(8)]
    assert take(reception, packets) == {"a": b"2" * 10}
    assert not reception.has_all
    assert not reception._objects
    assert reception.counters["refused_files"] == 1
    with pytest.raises(FileError):
        take(reception, packets, 0.25)


def test_one_table_of_a_stranger_takes_nothing_away() -> None:
    sender, stranger = carousel({"a": b"1" * 500}), carousel({"b": b"2"})
    stranger.remove([1])
    stranger.add(content_of("..", b"3"))
    reception = Reception()
    first = [table(sender) for _ in range(8)]
    take(reception, [*first, symbol(sender)])
    take(reception, [table(stranger)._replace(fdt_instance=9) for _ in range(8)])
    assert reception.counters["refused_files"] == 1
    assert take(reception, first + [symbol(sender) for _ in range(20)], 9.0) == {"a": b"1" * 500}


@pytest.mark.parametrize("number", [None, 9])
def test_that_there_is_no_more_is_not_believed_while_the_sender_says_its_own(number: int | None) -> None:
    sender, stranger = carousel({"a": b"1" * 50}), carousel({"a": b"1" * 50})
    stranger.end()
    reception = Reception()
    take(reception, [*(table(sender) for _ in range(4)), symbol(sender)])
    for now in range(1, 40):
        forged, own = [table(stranger) for _ in range(4)], [table(sender) for _ in range(4)]
        number = forged[0].fdt_instance if number is None else number
        take(reception, [packet._replace(fdt_instance=number) for packet in forged] * 2, now / 2)
        take(reception, own, now / 2 + 0.4)
        assert reception.has_all_described
        assert not reception.has_all
    sender.end()
    for now in (20, 21, 22):
        take(reception, [table(sender) for _ in range(4)], now)
    assert reception.has_all


def test_a_table_whose_number_a_stranger_has_taken_is_read_later() -> None:
    sender, stranger = carousel({"a": b"1" * 500}), carousel({})
    stranger._next_toi = 99
    stranger.add(content_of("b", b"2" * 500))
    first, number = [table(sender) for _ in range(8)], table(sender).fdt_instance
    reception = Reception()
    take(reception, [table(stranger)._replace(fdt_instance=number) for _ in range(8)])
    packets = first + [symbol(sender) for _ in range(20)]
    assert take(reception, packets) == {}
    assert take(reception, packets, 30.1) == {"a": b"1" * 500}
    assert len(reception._files) == 2
    take(reception, first, 30.4)
    assert [described.file.name for described in reception._files.values()] == ["a"]


def test_memory_has_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hosts.protocols.webrc.flute.reception.EARLY_BYTES", 5000)
    monkeypatch.setattr("hosts.protocols.webrc.flute.reception.MOST_FILES", 5)
    sender = carousel(SMALL)
    reception = Reception()
    take(reception, [symbol(sender) for _ in range(100)])
    assert reception.counters["early_packets"] == 100
    kept = [packet for packets in reception._early.values() for packet in packets]
    assert 2 < len(kept) <= 5000 // EARLY_COST
    assert reception._early_bytes == sum(len(packet.symbol) + EARLY_COST for packet in kept)
    take(reception, [table(sender) for _ in range(80)])
    assert len(reception._files) == 5
    for instance in range(100, 150):
        take(reception, [table(sender)._replace(fdt_instance=instance)])
    assert len(reception._tables) <= 4
    with pytest.raises(PacketError):
        reception.add(table(sender)._replace(fdt_instance=None), 0.0)
    with pytest.raises(PacketError):
        reception.add(table(sender)._replace(fdt_instance=777, fti=b""), 0.0)


def test_the_first_packets_of_an_object_wait_for_its_description_and_others_that_nothing_describes_give_way(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("hosts.protocols.webrc.flute.reception.EARLY_BYTES", 40 * (200 + EARLY_COST))
    sender = carousel({"a": DATA})
    reception, foreign = Reception(), symbol(sender)._replace(toi=9)
    take(reception, [foreign._replace(payload_id=number) for number in range(30)])
    early = [symbol(sender) for _ in range(60)]
    take(reception, early)
    assert set(reception._early) == {1}
    assert reception._early[1] == early[: len(reception._early[1])]
    assert take(reception, [table(sender) for _ in range(8)]) == {"a": DATA}
    assert not reception._early_bytes


def test_objects_with_an_fti_that_nothing_describes_make_room_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("MOST_OBJECTS", 4), ("HELD_BYTES", 2000)):
        monkeypatch.setattr(f"hosts.protocols.webrc.flute.reception.{name}", value)
    reception = Reception()
    fti = Transmission(NO_CODE, 10_000, 100, 100).encode()
    for toi in range(2, 40):
        packet = Alc(7, 0, 0, 1, toi=toi, encoding=NO_CODE, symbol=DATA[:100], fti=fti)
        take(reception, [packet._replace(payload_id=number) for number in range(6)])
        assert toi in reception._objects
        assert len(reception._objects) <= 4
    assert reception._held < 2000 + 6 * 300
    sender = carousel({"a": DATA[:300]})
    heard = [part for _ in range(8) for part in (symbol(sender), table(sender))]
    assert take(reception, heard) == {"a": DATA[:300]}


def test_the_number_of_an_instance_that_has_expired_may_be_another_s() -> None:
    """As of a sender that began again (RFC 6726, 3.4.1)."""
    reception = Reception(ntp_at_zero=3_900_000_000.0)
    first = carousel({"a": b"1" * 50}, ntp_at_zero=3_900_000_000.0)
    second = carousel({"b": b"2" * 50}, ntp_at_zero=3_900_000_000.0)
    for now, sender, found in ((0.0, first, {"a"}), (1.0, second, set()), (LIFETIME_S + 1, second, {"b"})):
        packets = [table(sender, now) for _ in range(8)] + [symbol(sender) for _ in range(4)]
        assert packets[0].fdt_instance in (0, 1)
        assert set(take(reception, packets, now)) == found
