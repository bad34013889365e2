"""Channels that fall silent are named once a limit."""

from hosts.protocols.webrc.silence import Silences


def test_a_silent_channel_is_named_again_and_again_until_it_is_heard_or_left() -> None:
    silences = Silences(4.0, 5.0)
    silences.heard(1, 0.0)
    silences.heard(2, 2.0)
    assert silences.take(2.4) == []
    assert silences.take(2.5) == [1]
    assert silences.take(4.6) == [2]
    silences.forget(2)
    silences.heard(1, 5.0)
    assert silences.take(7.4) == []
    assert silences.take(7.5) == [1]


def test_slow_base_channels_are_not_waited_for_beyond_the_most() -> None:
    silences = Silences(0.1, 5.0)
    silences.heard(1, 0.0)
    assert silences.take(5.0) == [1]
