"""What switches read of TFMCC's packets where these are sealed, and what receivers say twice (docs/security.md)."""

from typing import Final

from hosts.endpoint import Address, Effect
from hosts.parts.twins import Audit, Twins
from hosts.protocols.tfmcc.options import TfmccOptions
from hosts.protocols.tfmcc.packets import (
    DATA,
    FLAG_ASSIST,
    FLAG_FROM_CLR,
    FLAG_HAVE_RTT,
    FLAG_LEAVE,
    FLAG_MAY_SUPPRESS,
    FLAG_SUPPRESSED,
    FLAG_TWIN,
    REPORT,
    Report,
    Type,
)
from hosts.wire.sealed import OpenHead, bytes_of, end_of

OPEN_HEADS: Final = {
    int(Type.DATA): OpenHead(end_of(DATA, "path_rtt"), flags=FLAG_ASSIST, told=FLAG_SUPPRESSED),
    int(Type.REPORT): OpenHead(
        REPORT.size,
        flags=FLAG_MAY_SUPPRESS,
        is_vouched=True,
        changed=(bytes_of(REPORT, "far_rtt"), bytes_of(REPORT, "stands_for")),
    ),
}
"""What p4src/assist/tfmcc reads."""
_JUDGED: Final = FLAG_MAY_SUPPRESS | FLAG_HAVE_RTT
"""Of reports whose rates switches compare."""


def twins(options: TfmccOptions) -> Twins[Report]:
    """A receiver's: none where nobody is to be found out."""
    return Twins(options.assist, options.sample_s, _twin)


def _twin(report: Report) -> Report:
    """A little later: a sender takes no two of the same time."""
    return report._replace(flags=report.flags & ~FLAG_MAY_SUPPRESS | FLAG_TWIN, time_us=report.time_us + 1)


def said(twins: Twins[Report], report: Report, now: float) -> list[Report]:
    """A report, and its twin if it has one. The CLR's always pass."""
    if report.flags & (_JUDGED | FLAG_LEAVE) != _JUDGED:
        return [report]
    return twins.request(report, now, passes=report.flags & FLAG_FROM_CLR > 0)


def audited(audit: Audit, report: Report, source: Address, delay: float, now: float) -> list[Effect]:
    """What is to be done when the sender has heard a report. `delay`: T, for a switch knows what was confirmed in this
    round and the one before."""
    may_suppress, is_twin = report.flags & _JUDGED == _JUDGED, report.flags & FLAG_TWIN > 0
    return audit.told("rate", 0, report.rate, source, delay, now, may_suppress=may_suppress, is_twin=is_twin)
