"""What a switch remembers of MTCP's feedback: slots of parents, and in them ports and children."""

from dataclasses import dataclass, field, replace

from tests.p4src.bench.program import number

BASE_US = number("MTCP_BASE_US")


@dataclass(frozen=True)
class Recent:
    """Packets, each remembered for one to two times of a length that whoever asks says. Packets are known by their
    numbers modulo SACK_BITS.
    """

    at: int = 0
    later: frozenset[int] = frozenset()
    before: frozenset[int] = frozenset()

    @property
    def all(self) -> frozenset[int]:
        """What is remembered."""
        return self.later | self.before

    def aged(self, limit: int, now: int) -> "Recent":
        """Without what is too old."""
        if now - self.at < limit:
            return self
        if now - self.at < 2 * limit:
            return Recent(self.at + limit, frozenset(), self.later)
        return Recent(now)

    def add(self, packets: frozenset[int]) -> "Recent":
        """These, too."""
        return replace(self, later=self.later | packets)

    def without(self, packet: int) -> "Recent":
        """Forget one."""
        return replace(self, later=self.later - {packet}, before=self.before - {packet})


@dataclass
class Least:
    """The least delay of a child: since a time, and of the time before."""

    since: int
    later: int
    before: int

    @property
    def value(self) -> int:
        """Of both."""
        return min(self.later, self.before)

    def add(self, rtd: int, now: int, *, again: bool) -> None:
        """A sample; `again`: the least is that of the last while only."""
        if again and now - self.since >= BASE_US:
            self.before = self.later if now - self.since < 2 * BASE_US else rtd
            self.since, self.later = now, rtd
        self.later = min(self.later, rtd)


@dataclass
class Port:
    """What a port's neighbour last said for its children."""

    children: frozenset[int]
    holders: frozenset[int]
    cumulative: int
    above: frozenset[int]  # packets beyond the cumulative one that have arrived
    cwnd: int
    twnd: int
    window: int
    heard: int  # active time
    repair_echo: int
    echo: int = 0  # of the last sample
    queue: int = 0
    bound: int = 0
    mean: int = 0
    deviation: int = 0
    wanted: frozenset[int] = frozenset()  # asked for and not sent
    served: Recent = field(default_factory=Recent)  # sent
    since: int | None = None  # it has waited for something


@dataclass
class Sent:
    """The last summary."""

    cumulative: int
    above: frozenset[int]
    children: frozenset[int]
    holders: frozenset[int]
    cwnd: int
    twnd: int
    window: int
    at: int


@dataclass
class Slot:
    """One parent's feedback."""

    owner: tuple[int, str]
    used_at: int
    active: int = 0
    ports: dict[int, Port] = field(default_factory=dict)
    sent: Sent | None = None
    repeats: int = 0
    rtt: dict[int, int] = field(default_factory=dict)  # port -> what a probe said
    asked: Recent = field(default_factory=Recent)  # in NACKs that passed, and not repaired since
    addressed: dict[int, int] = field(default_factory=dict)  # port -> when the last repair to a child there was sent
    least: dict[int, Least] = field(default_factory=dict)  # child -> least RTD
    changed_at: dict[int, int] = field(default_factory=dict)
    plain_until: dict[int, int] = field(default_factory=dict)
