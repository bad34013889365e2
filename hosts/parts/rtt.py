"""Mean and mean deviation of a delay, and the timeout they give (Jacobson; RFC 6298).

The delay may be a round trip time, or a relative time delay between two unsynchronised clocks, which may be negative:
nothing here depends on its sign or origin.
"""

from typing import Final

MEAN_GAIN: Final = 1 / 8
"""RFC 6298, alpha."""
DEVIATION_GAIN: Final = 1 / 4
"""RFC 6298, beta."""
DEVIATIONS: Final = 4
"""RFC 6298, K."""
INITIAL_TIMEOUT_S: Final = 1.0
"""RFC 6298, (2.1): before the first sample."""


class DelayEstimator:
    """Smoothed delay in seconds."""

    __slots__ = ("_deviation_gain", "_least_margin", "_mean_gain", "deviation", "mean", "samples", "timeout")

    def __init__(
        self, least_margin_s: float, *, mean_gain: float = MEAN_GAIN, deviation_gain: float = DEVIATION_GAIN
    ) -> None:
        """`least_margin_s`: the timeout is at least this far above the mean."""
        self._least_margin = least_margin_s
        self._mean_gain = mean_gain
        self._deviation_gain = deviation_gain
        self.mean = 0.0
        self.deviation = 0.0
        self.samples = 0
        self.timeout: float | None = None
        """Mean and four deviations; None before the first sample."""

    def add(self, sample_s: float, first_deviation_s: float | None = None) -> None:
        """Take a sample. The first one's deviation is half of it (RFC 6298, 2.2) unless given."""
        if self.samples == 0:
            self.mean = sample_s
            self.deviation = abs(sample_s) / 2 if first_deviation_s is None else first_deviation_s
        else:
            error = sample_s - self.mean
            self.mean += self._mean_gain * error
            self.deviation += self._deviation_gain * (abs(error) - self.deviation)
        self.samples += 1
        self.timeout = self.mean + max(self._least_margin, DEVIATIONS * self.deviation)
