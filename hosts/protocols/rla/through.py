"""The receivers of RLA's sender that are through, and what that makes of the session."""

from hosts.endpoint import Address, SessionEnded
from hosts.parts.silence import is_success
from hosts.protocols.rla.branch import Ended
from hosts.wire.reason import Reason


class Through(dict[Address, Ended]):
    """How each of them ended."""

    def may_come(self, address: Address) -> bool:
        """Whether it may join: unless it is through; somebody else may have joined in its name."""
        ended = self.get(address)
        return ended is None or ended.code is Reason.UNPROVEN

    @property
    def is_nobody(self) -> bool:
        """Whether all of them may not have been there."""
        return all(ended.code is Reason.UNPROVEN for ended in self.values())

    @property
    def is_somebody_whole(self) -> bool:
        """Whether one has the whole."""
        return any(ended.state == "complete" for ended in self.values())

    @property
    def failed_text(self) -> str:
        """Who has not the whole, and why."""
        return "; ".join(f"{address}: {end.reason}" for address, end in self.items() if end.state != "complete")

    def end(self, wanted: int) -> SessionEnded:
        """What has come of the session, which was for so many."""
        incomplete = [end for end in self.values() if end.state != "complete"]
        codes = [end.code if end.state == "lost" else Reason.FAILED for end in incomplete]
        return SessionEnded(is_success(codes, len(self) - len(incomplete), wanted), self.failed_text)
