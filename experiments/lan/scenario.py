"""What is run on the LAN, as a document: one session, alone or beside one TCP."""

from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field

from topologies.scenario.activity import TcpFlow

LINK: Final = "link"
"""The series of what the first receiver's interface has received: `t`, `bytes`."""
DATA_BYTES: Final = 20_000
"""What a receiver has got when it is not only announcements (ours)."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class LanSession(_Part):
    """A session of a protocol with its default parameters."""

    id: int = 1
    protocol: str


class LanScenario(_Part):
    """One run."""

    name: str
    duration: str
    """Seconds, as in `30 s`, from the first data on; alone a file is so long at the link's full rate."""
    rate_bps: Annotated[float, Field(gt=0)]
    queue_bytes: Annotated[int, Field(gt=0)]
    receivers: Annotated[int, Field(ge=1, le=64)]
    sessions: Annotated[tuple[LanSession, ...], Field(min_length=1, max_length=1)]
    traffic: Annotated[tuple[TcpFlow, ...], Field(max_length=1)] = ()
    """A TCP of the kernel, from before the session on."""

    @property
    def seconds(self) -> float:
        """The duration."""
        return float(self.duration.split()[0])

    @property
    def names(self) -> list[str]:
        """The receivers."""
        return [f"r{number}" for number in range(1, self.receivers + 1)]
