"""The datagrams by which RLA's sender sends a packet, the first time and again."""

from collections import Counter

from hosts.endpoint import ECT_0, NOT_ECT, Address, Send
from hosts.protocols.rla.answers import Answers
from hosts.protocols.rla.inflight import Packet
from hosts.protocols.rla.options import RlaOptions
from hosts.protocols.rla.packets import Data, encode_data


class Copies:
    """Of one session."""

    __slots__ = ("_assisted", "_counters", "_ecn", "_session")

    def __init__(self, session: int, options: RlaOptions, counters: Counter[str]) -> None:
        self._session = session
        self._assisted = options.assist == "switch"
        self._ecn = ECT_0 if options.rules == "tcp" else NOT_ECT
        self._counters = counters

    def of(
        self, seq: int, packet: Packet, again: bool, to: Address, srtt_max: float, answers: Answers, now: float
    ) -> Send:
        """Of packet `seq`, to the group or a receiver; `srtt_max` seconds, `answers` are what is wanted to it."""
        data = Data(
            self._session,
            packet.end,
            again,
            seq,
            int(srtt_max * 1e3) + 1,
            int(now * 1e6),
            packet.offset,
            packet.payload,
            self._assisted,
            answers.ratio,
            answers.waits,
        )
        datagram = encode_data(data)
        self._counters["udp_bytes"] += len(datagram)
        return Send(datagram, to, self._ecn)
