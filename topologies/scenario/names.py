"""Names that are mistyped."""

import difflib
from collections.abc import Sequence


class UnknownNameError(ValueError):
    """There is nothing of that name; the message lists what comes near."""


def did_you_mean(name: str, known: Sequence[str]) -> str:
    """The end of a message about an unknown name: what is like it, or all there is when that is little, or nothing."""
    near = difflib.get_close_matches(name, known, n=4, cutoff=0.55)
    near += [other for other in known if other.startswith(name) and other not in near][: 4 - len(near)]
    return f"; did you mean {', '.join(f'`{other}`' for other in near)}?" if near else ""
