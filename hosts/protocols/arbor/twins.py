"""What Arbor's receivers ask for twice, so that a switch that drops too much is found (`hosts.parts.twins`)."""

from typing import TypeVar

from hosts.endpoint import Address, Effect
from hosts.parts.twins import Audit, Twins
from hosts.protocols.arbor.options import ArborOptions
from hosts.protocols.arbor.packets import Blocks, Report

RequestT = TypeVar("RequestT", Report, Blocks)


def twins(options: ArborOptions, kind: type[RequestT]) -> Twins[RequestT]:
    """A receiver's, of its requests of a kind: none where nobody is to be found out."""

    def twin_of(one: RequestT) -> RequestT:
        return one._replace(may_suppress=False, twin=True)

    return Twins(options.assist, options.sample_s, twin_of)


def audited(
    audit: Audit, one: Report | Blocks, kind: str, about: int, value: int, source: Address, rtt: float, now: float
) -> list[Effect]:
    """What is to be done when the sender has heard a request."""
    return audit.told(kind, about, value, source, rtt, now, may_suppress=one.may_suppress, is_twin=one.twin)
