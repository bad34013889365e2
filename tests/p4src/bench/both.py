"""The whole program and the reduced one (p4src/reduced.p4) as one switch: they must do the same."""

import lzma
from collections.abc import Mapping, Sequence
from functools import cache

from tests.p4src.bench.program import FOLDER, Program, program
from tests.p4src.bench.target import Digest, Embedded, Key, Output, PacketIn, Rates, Target


@cache
def reduced() -> Program:
    """It has the whole program's P4Info, as far as that goes."""
    small = Program()
    small.json = lzma.decompress((FOLDER / "reduced.json.xz").read_bytes()).decode()
    return small


class Both(Target):
    """What is sent to one is sent to the other; what leaves must be equal."""

    def __init__(self) -> None:
        super().__init__(program())
        self.exact_time = True
        self._both = (Embedded(program()), Embedded(reduced()))

    def send(self, port: int, packet: bytes) -> list[Output]:
        whole, small = (target.send(port, packet) for target in self._both)
        assert small == whole
        return whole

    def digests(self) -> list[Digest]:
        whole, small = (target.digests() for target in self._both)
        assert small == whole
        return whole

    def packet_ins(self) -> list[PacketIn]:
        whole, small = (target.packet_ins() for target in self._both)
        assert small == whole
        return whole

    def counter(self, name: str, index: int) -> tuple[int, int]:
        whole, small = (target.counter(name, index) for target in self._both)
        assert small == whole, (name, index)
        return whole

    def advance(self, microseconds: int) -> None:
        for target in self._both:
            target.advance(microseconds)

    def reset(self) -> None:
        for target in self._both:
            target.reset()

    def set_default(self, table: str, action: str, params: Mapping[str, int]) -> None:
        for target in self._both:
            target.set_default(table, action, params)

    def insert(self, table: str, key: Mapping[str, Key], action: str, params: Mapping[str, int]) -> None:
        for target in self._both:
            target.insert(table, key, action, params)

    def modify(self, table: str, key: Mapping[str, Key], action: str, params: Mapping[str, int]) -> None:
        for target in self._both:
            target.modify(table, key, action, params)

    def delete(self, table: str, key: Mapping[str, Key]) -> None:
        for target in self._both:
            target.delete(table, key)

    def set_groups(self, groups: Mapping[int, Sequence[int]]) -> None:
        for target in self._both:
            target.set_groups(groups)

    def change_group(self, group: int, ports: Sequence[int]) -> None:
        for target in self._both:
            target.change_group(group, ports)

    def set_clone_session(self, session: int, port: int) -> None:
        for target in self._both:
            target.set_clone_session(session, port)

    def set_meter(self, name: str, index: int, rates: Rates) -> None:
        raise NotImplementedError
