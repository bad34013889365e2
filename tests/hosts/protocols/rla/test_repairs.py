"""When a packet that was asked for is sent again, and what an acknowledgment costs meanwhile."""

from collections import Counter

import pytest

from hosts.endpoint import Address, Send
from hosts.parts.sack import Scoreboard
from hosts.protocols.rla.branch import Branch
from hosts.protocols.rla.inflight import InFlight, Packet
from hosts.protocols.rla.repairs import Repairs

GROUP = Address("232.1.4.1", 5000)
PACKETS = 2000


class Session:
    """A sender of `PACKETS` packets and its receivers, without what decides on windows."""

    def __init__(self, receivers: int) -> None:
        self.inflight = InFlight()
        self.branches = {
            number: Branch(number, Address("10.0.0.2", number), 0, 0.2, 0.0) for number in range(receivers)
        }
        for number in self.branches:
            self.inflight.listened.add_child(number, 0)
        self.inflight.append_run(bytes(PACKETS), 1, 0.0)
        self.repairs = Repairs(self.inflight, self.branches, 0, Counter(), self._copy)

    def _copy(self, seq: int, packet: Packet, to: Address | None, now: float) -> Send:
        return Send(seq.to_bytes(2, "big"), to or GROUP)

    def has(self, number: int, *seqs: int) -> None:
        """One packet by itself each, as an acknowledgment tells it."""
        board, branch = self.inflight.listened, self.branches[number]
        for seq in seqs:
            if self.repairs.waits:
                self.repairs.arrived(branch, [seq])
            board.acknowledge(number, 0, 1 << seq - 1, PACKETS)

    def again(self) -> list[int]:
        """What leaves now."""
        return [int.from_bytes(effect.data, "big") for effect in self.repairs.answer(1.0) if isinstance(effect, Send)]


def test_a_packet_waits_until_all_have_been_heard_of() -> None:
    session = Session(3)
    for seq in (9, 5):
        session.repairs.request(session.branches[0], seq)
    session.repairs.request(session.branches[1], 9)
    assert session.again() == []
    session.has(2, 9)
    assert session.again() == [9]  # two lack it, one has it
    session.has(1, 5)
    assert session.again() == []
    session.has(2, 5)
    assert session.again() == [5]
    assert session.again() == []


def test_what_arrives_after_all_is_not_repeated() -> None:
    session = Session(2)
    session.repairs.request(session.branches[0], 5)
    session.has(0, 5)
    session.has(1, 5)
    assert session.again() == []
    assert not session.repairs.waits


def test_who_is_gone_is_not_waited_for() -> None:
    session = Session(2)
    session.repairs.request(session.branches[0], 5)
    assert session.again() == []
    session.repairs.forget(session.branches[1])
    session.inflight.remove(session.branches[1])
    assert session.again() == [5]


def test_an_acknowledgment_looks_at_what_it_tells_of(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many packets are asked for: thousands are, when a fast network has lost a burst."""
    session = Session(2)
    looked: list[int] = []

    def lacking(board: Scoreboard, seq: int) -> int:
        looked.append(seq)
        return 2

    monkeypatch.setattr(Scoreboard, "lacking", lacking)
    for seq in range(1, PACKETS):
        session.repairs.request(session.branches[0], seq)
    session.again()
    assert len(looked) == PACKETS - 1
    looked.clear()
    session.has(1, 7)
    session.again()
    assert looked == [7]
