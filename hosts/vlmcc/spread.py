"""When a follower that wants to lead says so, among many that do: at random, and not if another was faster (ours).

The paper regulates nothing: whoever finds itself worse off says so at once. Where a thousand followers share what has
happened to one of them, that is a thousand challenges in one round trip. So each waits for an exponentially distributed
time, as in TFMCC (2.5.1; Nonnenmacher and Biersack 1998), and looks again: by then a new leader may have slowed the
sender down. With few receivers there is hardly a wait.
"""

import random
from math import log


def spread_delay(rng: random.Random, longest: float, receivers: int) -> float:
    """Seconds in [0, longest]: longest (1 + log_n u) with u uniform in (0, 1], or 0. One receiver does not wait."""
    if receivers < 2 or longest <= 0:
        return 0.0
    return max(0.0, longest * (1 + log(1 - rng.random()) / log(receivers)))
