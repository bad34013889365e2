"""What a test expects at each port and what came, compared at the end, port by port and in order."""

from dataclasses import dataclass, field

from engine.switch.stf.errors import StfError, UnmetError


@dataclass(frozen=True, slots=True)
class Expected:
    """An `expect` line: hexadecimal digits with `*` for any, `exact` when a `$` closes them."""

    line: int
    digits: str
    exact: bool

    def difference(self, packet: bytes) -> str | None:
        """What is wrong with the packet, None when it is as expected; it may be longer unless it has to be exact."""
        got = packet.hex().upper()
        if len(got) < len(self.digits):
            return f"the packet has {len(got)} digits, fewer than the {len(self.digits)} expected"
        for position, (want, have) in enumerate(zip(self.digits, got, strict=False)):
            if want not in ("*", have):
                return f"digit {position} (byte {position // 2}) is {have}, not {want}"
        if self.exact and len(got) > len(self.digits):
            return f"the packet has {len(got)} digits, more than the {len(self.digits)} expected"
        return None


@dataclass(slots=True)
class Ports:
    """`received`: (line of the `packet` that caused it, packet). Only ports that the test names are looked at."""

    known: set[int] = field(default_factory=set)
    any_number: set[int] = field(default_factory=set)
    expected: dict[int, list[Expected]] = field(default_factory=dict)
    received: dict[int, list[tuple[int, bytes]]] = field(default_factory=dict)

    def expect(self, line: int, port: int, digits: str) -> None:
        """`expect PORT` without digits: any number of any packets."""
        self.known.add(port)
        if not digits:
            self.any_number.add(port)
            return
        digits = digits.upper()
        exact = digits.endswith("$")
        digits = digits.removesuffix("$")
        if wrong := set(digits) - set("0123456789ABCDEF*"):
            raise StfError(f"`{min(wrong)}` is not a hexadecimal digit")
        self.expected.setdefault(port, []).append(Expected(line, digits, exact))

    def receive(self, line: int, port: int, packet: bytes) -> None:
        self.received.setdefault(port, []).append((line, packet))

    def check(self) -> list[tuple[int, UnmetError]]:
        """The failures with the lines that they belong to."""
        failures = []
        for port in sorted(self.known - self.any_number):
            expected, received = self.expected.get(port, []), self.received.get(port, [])
            for want, (_, packet) in zip(expected, received, strict=False):
                if (difference := want.difference(packet)) is not None:
                    text = f"port {port}: {difference}\n  expected {want.digits}\n  received {packet.hex().upper()}"
                    failures.append((want.line, UnmetError(text)))
            for want in expected[len(received) :]:
                failures.append((want.line, UnmetError(f"port {port}: no packet came")))
            for line, packet in received[len(expected) :]:
                text = f"port {port}: a packet came that no line expects\n  received {packet.hex().upper()}"
                failures.append((line, UnmetError(text)))
        return failures


def parse_port(text: str) -> int:
    if not text.isdecimal():
        raise StfError(f"`{text}` is not a port number")
    return int(text)


def parse_packet(digits: str) -> bytes:
    try:
        return bytes.fromhex(digits)
    except ValueError:
        raise StfError("the packet is not a whole number of hexadecimal bytes") from None
