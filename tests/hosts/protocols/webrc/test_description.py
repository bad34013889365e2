"""A session's parameters in its packets: receivers that were told nothing, or something else."""

from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hosts.endpoint import Send
from hosts.protocols.webrc.description import MOST_CHANNELS, conflict, described, encode_description
from hosts.protocols.webrc.options import WebrcOptions
from hosts.protocols.webrc.packets import Alc, encode, parse
from hosts.protocols.webrc.sender import WebrcSender
from hosts.wire.header import PacketError
from tests.hosts.protocols.webrc.memory import Member, packets, play, session

SENT = WebrcOptions(session_rate_bps=1e6, slot_s=2.0, quiescence_s=10.0, p=0.7)
DATA = Random(6).randbytes(60_000)


def test_what_is_announced_is_read_to_the_bit() -> None:
    packet = Alc(7, 3, 47, 513, symbol=b"x", description=encode_description(SENT))
    assert described(WebrcOptions(epoch_s=0.5), parse(encode(packet)).description) == WebrcOptions(
        session_rate_bps=1e6, slot_s=2.0, quiescence_s=10.0, p=0.7, epoch_s=0.5
    )
    realtime = replace(SENT, deadline_s=1.5)
    assert described(WebrcOptions(), encode_description(realtime)) == realtime
    assert "deadline_s is 1.5, not 3" in conflict(WebrcOptions(deadline_s=3.0), realtime)


@given(st.binary(max_size=60))
def test_strange_descriptions_are_refused_or_bounded(data: bytes) -> None:
    try:
        options = described(WebrcOptions(), data)
    except PacketError:
        return
    assert options.waves().t <= MOST_CHANNELS


def test_more_channels_than_a_receiver_takes_from_the_network_are_refused() -> None:
    with pytest.raises(PacketError):
        described(WebrcOptions(), encode_description(WebrcOptions(quiescence_s=30_000.0)))


def test_only_what_was_set_otherwise_is_a_conflict() -> None:
    assert conflict(WebrcOptions(), SENT) == ""
    assert conflict(WebrcOptions(p=0.7), SENT) == ""
    assert "p is 0.7, not 0.8" in conflict(WebrcOptions(p=0.8), SENT)


@pytest.mark.parametrize("own", [WebrcOptions(), WebrcOptions(session_rate_bps=1e6), SENT])
def test_a_receiver_needs_a_group_and_a_port_only(own: WebrcOptions) -> None:
    (member,) = play(SENT, DATA, [0.3], 60.0, own=own)
    assert member.ended is not None
    assert member.ended.complete
    assert member.groups == set()
    assert member.endpoint.sample(now=0.0)["joined_waves"]


@pytest.mark.parametrize("sent", [SENT, WebrcOptions(session_rate_bps=2e6)])
def test_other_settings_are_an_error_within_two_seconds(sent: WebrcOptions) -> None:
    (member,) = play(sent, DATA, [0.0], 2.0, own=WebrcOptions(session_rate_bps=4e6))
    assert member.ended is not None
    assert "session_rate_bps" in member.ended.reason
    assert member.groups == set()


def test_a_receiver_that_had_begun_with_its_own_parameters_begins_again() -> None:
    """The same channels, another rate of falling: the first packet fits both."""
    sent = WebrcOptions(session_rate_bps=1e6, slot_s=8.0, quiescence_s=240.0)
    own = WebrcOptions(session_rate_bps=1e6)
    assert sent.waves().t == own.waves().t
    member = Member(own, 0.0)
    seen = []
    for now, send in packets(sent, DATA, 3.0):
        member.wake(now)
        member.take(send, now)
        seen.append(member.endpoint.options.slot_s)
    assert seen[-1] == 8.0
    assert member.ended is not None
    assert member.ended.complete


def test_a_session_without_a_rate_of_its_own_fits_the_sender_s_link() -> None:
    assert WebrcOptions().within_link(0.0) == WebrcOptions().within_link(1e9) == WebrcOptions()
    sender = WebrcSender(session(realtime=True, link_bps=1e6), WebrcOptions(), Random(1))
    assert sender.options.session_rate_bps == 0.8e6
    assert SENT.within_link(0.5e6) == SENT


def test_a_session_of_the_paper_s_says_nothing_of_itself() -> None:
    paper = WebrcOptions(session_rate_bps=1e6, slot_s=2.0, rules="paper")
    assert not any(parse(send.data).description for _, send in packets(paper, DATA, 3.0))
    assert any(parse(send.data).description for _, send in packets(SENT, DATA, 3.0))


def test_real_time_packets_keep_their_length() -> None:
    sender = WebrcSender(session(realtime=True), SENT, Random(1))
    member = Member(WebrcOptions(), 0.0, realtime=True, deliver=False)
    sizes, described_packets = set(), 0
    list(sender.start(now=0.0))
    while (now := sender.wake_at) is not None and now < 3.0:
        member.wake(now)
        for send in sender.handle_timer(now=now):
            assert isinstance(send, Send)
            sizes.add(len(send.data))
            described_packets += bool(parse(send.data).description)
            member.take(send, now)
    assert len(sizes) == 1
    assert described_packets
    assert member.endpoint.state == "member"
