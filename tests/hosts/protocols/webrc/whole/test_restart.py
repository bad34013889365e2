"""A switch that has forgotten all memberships: every channel is joined again, and the file becomes whole."""

from random import Random

from hosts.endpoint import Address
from hosts.protocols.webrc.options import WebrcOptions
from tests.hosts.protocols.webrc.memory import Member, packets

OPTIONS = WebrcOptions(session_rate_bps=1e6, slot_s=5.0, quiescence_s=50.0)


def test_after_a_switch_has_started_empty_all_channels_come_back() -> None:
    member = Member(OPTIONS, 0.0)
    gone: dict[Address, int] = {}  # group -> how often it had been joined when the switch forgot it
    began_again = 0.0
    for now, send in packets(OPTIONS, Random(3).randbytes(1_500_000), 120.0):
        member.wake(now)
        if member.ended is not None:
            break
        if began_again == 0.0 and now >= 7.0:
            began_again = now
            gone = {group: member.joins[group] for group in member.groups}
            assert len(gone) > 4
        if member.joins[send.destination] == gone.get(send.destination):
            continue
        member.take(send, now)
    assert member.ended is not None
    assert member.ended.complete
    assert member.endpoint.counters["joined_again"] >= len(gone) - 2
