"""What Prometheus is shown of a controller."""

import socket
from types import SimpleNamespace
from typing import Any, cast
from urllib.request import urlopen

import pytest

from controller.metrics import serve_metrics

CORE = cast(Any, SimpleNamespace(slots=[1, 2], members=[1, 2, 3], trees=SimpleNamespace(down=frozenset({"s1:2-s2:2"}))))
APPS = cast(
    Any,
    {
        "s1": SimpleNamespace(status="ready", connections=1, writes=70, packets_lost=0),
        "s2": SimpleNamespace(status="connecting", connections=2, writes=7, packets_lost=3),
    },
)


def test_numbers() -> None:
    port = serve_metrics(CORE, APPS, "127.0.0.1", 0)
    with urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
        lines = answer.read().decode().splitlines()
    assert {
        'canopy_switch_ready{switch="s1"} 1.0',
        'canopy_switch_ready{switch="s2"} 0.0',
        'canopy_switch_connections_total{switch="s2"} 2.0',
        'canopy_switch_writes_total{switch="s1"} 70.0',
        'canopy_switch_packet_outs_lost_total{switch="s2"} 3.0',
        "canopy_groups 2.0",
        "canopy_members 3.0",
        "canopy_links_down 1.0",
    } <= set(lines)


def test_a_port_that_is_taken() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ValueError, match=f"--metrics 127.0.0.1:{port}: "):
            serve_metrics(CORE, APPS, "127.0.0.1", port)
