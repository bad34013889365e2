"""The datagrams by which RLA's sender sends a packet, the first time and again."""

from collections import Counter

from hosts.endpoint import Address, Send, SendRun
from hosts.protocols.rla.answers import Answers
from hosts.protocols.rla.inflight import Packet
from hosts.protocols.rla.options import RlaOptions
from hosts.protocols.rla.packets import DATA_BYTES, Data, encode_data, encode_run
from hosts.protocols.rla.window import Window
from hosts.wire.header import ECT_0, NOT_ECT


class Copies:
    """Of one session."""

    __slots__ = ("_counters", "_ecn", "_session", "_window")

    def __init__(self, session: int, options: RlaOptions, window: Window, counters: Counter[str]) -> None:
        """`window` knows whether switches are asked for help."""
        self._session = session
        self._window = window
        self._ecn = ECT_0 if options.rules == "tcp" else NOT_ECT
        self._counters = counters

    def of(
        self, seq: int, packet: Packet, again: bool, to: Address, srtt_max: float, answers: Answers, now: float
    ) -> Send:
        """Of packet `seq`, to the group or a receiver; `srtt_max` seconds, `answers` are what is wanted to it."""
        datagram = encode_data(
            self._data(seq, packet.offset, packet.payload, packet.end, again, srtt_max, answers, now)
        )
        self._counters["udp_bytes"] += len(datagram)
        return Send(datagram, to, self._ecn)

    def run(
        self,
        seq: int,
        offset: int,
        payload: bytes,
        size: int,
        to: Address,
        srtt_max: float,
        answers: Answers,
        now: float,
    ) -> SendRun:
        """Of the packets from `seq` on, for the first time, each with `size` bytes of the stream from `offset` on."""
        data = self._data(seq, offset, payload, False, False, srtt_max, answers, now)
        datagrams = encode_run(data, size)
        self._counters["udp_bytes"] += len(datagrams)
        return SendRun(datagrams, to, self._ecn, DATA_BYTES + size)

    def _data(
        self,
        seq: int,
        offset: int,
        payload: bytes,
        end: bool,
        again: bool,
        srtt_max: float,
        answers: Answers,
        now: float,
    ) -> Data:
        srtt_ms, time_us = int(srtt_max * 1e3) + 1, int(now * 1e6)
        assist, ratio, waits = self._window.is_helped, answers.ratio, answers.waits
        return Data(self._session, end, again, seq, srtt_ms, time_us, offset, payload, assist, ratio, waits)
