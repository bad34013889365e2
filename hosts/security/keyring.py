"""The secrets of a group whose epochs change while its endpoints run: one for all endpoints of a process."""

from hosts.security.schedule import Schedule


class KeyRing:
    """Endpoints look at `version` before each packet, and take `epochs` anew where it has changed. Another thread than
    theirs may change it."""

    def __init__(self) -> None:
        self.epochs: tuple[tuple[int, bytes], ...] = ()
        """Numbers and secrets, of which the last one seals."""
        self.version = 0
        self.is_behind = False
        """A packet has come of an epoch that is not known here."""
        self._serial = 0

    def __repr__(self) -> str:
        return f"KeyRing(epochs {[number for number, _ in self.epochs]})"  # secrets are for no log

    def follow(self, schedule: Schedule, now: float) -> None:
        """What opens and seals at this time. A schedule that is older than one that was followed changes nothing."""
        if schedule.newest.serial < self._serial:
            return
        self._serial = schedule.newest.serial
        epochs = schedule.at(now)
        if epochs != self.epochs:
            self.epochs = epochs
            self.version += 1  # after what it is of
