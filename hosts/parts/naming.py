"""What receivers are called in status files and traces."""

from collections import Counter
from collections.abc import Collection

from hosts.endpoint import Address


def receiver_names(addresses: Collection[Address]) -> dict[Address, str]:
    """By IPv4 address, and with the port where two share one."""
    hosts = Counter(address.host for address in addresses)
    return {address: address.host if hosts[address.host] == 1 else str(address) for address in addresses}
