"""The groups of a session that has several: one channel has the session's own, channel i the (i + 1)th after it."""

from ipaddress import IPv4Address

from hosts.endpoint import Address


def channel_group(group: Address, channel: int, base: int) -> Address:
    """Where a channel's packets go; `base` is the base channel's number. ValueError beyond the multicast addresses."""
    if channel == base:
        return group
    host = IPv4Address(group.host) + channel + 1
    if not host.is_multicast:
        raise ValueError(f"{group.host} leaves no room for {channel + 1} more groups")
    return Address(str(host), group.port)


def session_groups(group: Address, base: int) -> tuple[Address, ...]:
    """All of a session's groups, by channel number. ValueError as above."""
    return tuple(channel_group(group, channel, base) for channel in range(base + 1))
