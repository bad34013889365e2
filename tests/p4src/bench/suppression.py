"""Feedback that passes a switch when it says something new: what the tests of TFMCC's and of VLMCC's filter share."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Generic, TypeVar

from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether

from tests.p4src.bench import runs
from tests.p4src.bench.feedback import PARENT_PORT, Bench
from tests.p4src.bench.packets import SWITCH_MAC, UDP_PORT, host_ip, host_mac

SENDER = host_ip(PARENT_PORT)
Data = TypeVar("Data")
Feedback = TypeVar("Feedback")


@dataclass(frozen=True)
class Filter(Generic[Data, Feedback]):
    """A protocol's packets through a switch, and the rules of both protocols."""

    encode_data: Callable[[Data], bytes]
    encode_feedback: Callable[[Feedback], bytes]
    parse: Callable[[bytes], object]

    def down(self, bench: Bench, packet: Data) -> Data:
        """Data of the sender's; how they leave."""
        left = self.parse(bench.down(self.encode_data(packet)))
        assert isinstance(left, type(packet))
        return left

    def up(self, bench: Bench, port: int, packet: Feedback) -> Feedback | None:
        """A receiver's feedback; how it leaves, if it does."""
        left = bench.up(port, self.encode_feedback(packet))
        if not left:
            return None
        parsed = self.parse(left[0])
        assert isinstance(parsed, type(packet))
        return parsed

    def leaves_alone(self, bench: Bench, plain: Data, asking: Data, feedback: Sequence[Feedback]) -> None:
        """`plain` data, and feedback that does not ask for it although data do."""
        assert self.down(bench, plain) == plain
        self.down(bench, asking)
        for port, packet in enumerate(feedback, 3):
            assert self.up(bench, port, packet) == packet
        assert bench.outcomes() == {}

    def recovers(self, bench: Bench, data: Data, feedback: Callable[[int], Feedback]) -> None:
        """A restart costs a packet or two. `feedback` is that of a port's receiver, all with the same to say."""
        self.down(bench, data)
        assert self.up(bench, 3, feedback(3)) is not None
        bench.target.reset()
        again = Bench(bench.target)
        again.assist()
        assert self.up(again, 4, feedback(4)) is not None  # no data has passed yet
        self.down(again, data)
        assert self.up(again, 5, feedback(5)) is not None
        assert self.up(again, 6, feedback(6)) is None

    def refuses_damaged(self, bench: Bench, packet: Feedback, byte: int) -> None:
        """It is dropped when a bit of its `byte` is another than the checksum says."""
        datagram = IP(src=host_ip(3), dst=SENDER, ttl=8) / UDP(sport=UDP_PORT, dport=UDP_PORT)
        frame = bytearray(bytes(Ether(src=host_mac(3), dst=SWITCH_MAC) / datagram / self.encode_feedback(packet)))
        frame[14 + 28 + byte] ^= 0x40
        assert bench.target.send(3, bytes(frame)) == []
        assert bench.target.drops() == {"udp_checksum": 1}


class Run(runs.Run[runs.Model]):
    """Data, feedback, and times that pass, some of them beyond what a switch remembers."""

    WEIGHTS: ClassVar[tuple[int, int]]
    """Of data and feedback, per cent; in the other 15 time passes."""
    SHORT_US: ClassVar[tuple[int, ...]]
    LONG_US: ClassVar[tuple[int, ...]]

    def step(self) -> None:
        chooser = self.chooser
        kind = chooser.choices(range(4), (*self.WEIGHTS, 13, 2))[0]
        if kind == 0:
            self.data()
        elif kind == 1:
            self.feedback()
        elif self.target.exact_time:
            self.target.advance(chooser.choice(self.SHORT_US if kind == 2 else self.LONG_US))

    @abstractmethod
    def data(self) -> None:
        """The sender's."""

    @abstractmethod
    def feedback(self) -> None:
        """A receiver's."""
