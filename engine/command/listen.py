"""Addresses to listen on, as the command line names them: below all layers that do."""

MAX_TCP_PORT = 65535


def parse_address(option: str, address: str) -> tuple[str, int]:
    """HOST:PORT. ValueError names the option."""
    host, separator, port = address.rpartition(":")
    if not separator or not port.isdecimal() or int(port) > MAX_TCP_PORT:
        raise ValueError(f"{option}: `{address}` is not HOST:PORT")
    return host.strip("[]"), int(port)
