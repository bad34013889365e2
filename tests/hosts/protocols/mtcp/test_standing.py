"""Where a receiver stands: which state comes after which, and whom its confirmation goes to."""

import pytest

from hosts.endpoint import Address, Send
from hosts.protocols.mtcp.options import MtcpOptions
from hosts.protocols.mtcp.standing import FIN_TRIES, NEXT, ReceiverState, Standing
from hosts.protocols.mtcp.tree_packets import encode_fin
from hosts.wire.reason import Reason


def standing(*states: ReceiverState) -> Standing:
    one = Standing(MtcpOptions())
    for state in states:
        one.enter(state)
    return one


WAYS = {
    ReceiverState.LISTENING: (),
    ReceiverState.JOINING: (ReceiverState.JOINING,),
    ReceiverState.MEMBER: (ReceiverState.JOINING, ReceiverState.MEMBER),
    ReceiverState.LEAVING: (ReceiverState.JOINING, ReceiverState.MEMBER, ReceiverState.LEAVING),
    ReceiverState.CONFIRMING: (ReceiverState.JOINING, ReceiverState.MEMBER, ReceiverState.CONFIRMING),
    ReceiverState.CLOSED: (ReceiverState.CLOSED,),
}


@pytest.mark.parametrize("at", ReceiverState)
@pytest.mark.parametrize("to", ReceiverState)
def test_only_the_ways_that_there_are(at: ReceiverState, to: ReceiverState) -> None:
    one = standing(*WAYS[at])
    assert one.state is at
    assert one.takes_part == (at in (ReceiverState.MEMBER, ReceiverState.LEAVING))
    if to in NEXT[at]:
        one.enter(to)
        assert one.state is to
    else:
        with pytest.raises(AssertionError):
            one.enter(to)
        assert one.state is at


def test_nothing_comes_after_the_end_and_all_can_end() -> None:
    assert not NEXT[ReceiverState.CLOSED]
    assert all(ReceiverState.CLOSED in NEXT[state] for state in ReceiverState if state is not ReceiverState.CLOSED)


def test_a_confirmation_goes_to_the_parent_first_and_then_further_up() -> None:
    parent, sender = Address("10.0.0.2", 1), Address("10.0.0.1", 1)
    one = Standing(MtcpOptions(announce_s=0.25))
    one.judge(True, Reason.NONE)
    sent = [one.fin(7, (parent, sender), 10.0) for _ in range(2 * FIN_TRIES + 1)]
    packet = encode_fin(7, False, True, Reason.NONE)
    assert sent == [[Send(packet, parent)]] * FIN_TRIES + [[Send(packet, sender)]] * FIN_TRIES + [None]
    assert one.retry_at == 10.25
