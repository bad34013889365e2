"""The --links file."""

import json
from pathlib import Path
from typing import Any

import pytest

from engine.switch.links import LinkSpecError, load_links


def write(folder: Path, content: Any) -> Path:
    path = folder / "links.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def test_links_are_read_by_port_and_direction(tmp_path: Path) -> None:
    spec = {
        "rate_bps": 1e7,
        "delay_us": 2500.5,
        "loss": 0.01,
        "queue": "red",
        "limit_packets": 100.0,
        "red_min": 5,
        "red_max": 15,
        "red_weight": 0.002,
        "red_max_p": 0.1,
        "red_gentle": True,
        "overhead_bytes": 24,
        "seed": 7,
    }
    dual = {"queue": "dualpi2", "target_us": 15e3, "alpha": 0.16, "beta": 0, "ramp_us": 0, "limit_bytes": 5}
    bursty = {"gilbert_elliott": [0.01, 0.5, 0, 1]}
    links = load_links(write(tmp_path, {"1": {"tx": spec, "rx": bursty}, "12": {}, "3": {"tx": dual}}))
    assert links == {1: {"tx": spec, "rx": {"gilbert_elliott": (0.01, 0.5, 0, 1)}}, 12: {}, 3: {"tx": dual}}
    assert isinstance(links[1]["tx"]["limit_packets"], int)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "not JSON"),
        ([], "not an object of ports"),
        ({"eth0": {}}, "`eth0` is not a port number"),
        ({"1": []}, "port 1: not an object with `tx` and `rx`"),
        ({"1": {"up": {}}}, "port 1: not an object with `tx` and `rx`"),
        ({"1": {"tx": 5}}, "port 1: tx: not an object"),
        ({"1": {"tx": {"rate": 5}}}, "port 1: tx: there is no `rate`"),
        ({"1": {"rx": {"rate_bps": "1M"}}}, "port 1: rx: `rate_bps` cannot be '1M'"),
        ({"1": {"rx": {"rate_bps": -1}}}, "`rate_bps` cannot be -1"),
        ({"1": {"rx": {"rate_bps": True}}}, "`rate_bps` cannot be True"),
        ({"1": {"rx": {"limit_packets": 1.5}}}, "`limit_packets` cannot be 1.5"),
        ({"1": {"rx": {"queue": "sfq"}}}, "`queue` cannot be 'sfq'"),
        ({"1": {"rx": {"ecn": 1}}}, "`ecn` cannot be 1"),
        ({"1": {"rx": {"target_us": 0}}}, "`target_us` cannot be 0"),
        ({"1": {"rx": {"flows": 1.5}}}, "`flows` cannot be 1.5"),
        ({"1": {"rx": {"red_gentle": 1}}}, "`red_gentle` cannot be 1"),
        ({"1": {"rx": {"loss": 1.5}}}, "`loss` cannot be 1.5"),
        ({"1": {"rx": {"limit_packets": 0}}}, "`limit_packets` cannot be 0"),
        ({"1": {"rx": {"gilbert_elliott": [0, 1, 2, 0]}}}, "`gilbert_elliott` cannot be [0, 1, 2, 0]"),
        ('{"1": {"rx": {"delay_us": Infinity}}}', "`delay_us` cannot be inf"),
    ],
)
def test_mistakes_are_named_with_their_place(tmp_path: Path, content: Any, message: str) -> None:
    path = write(tmp_path, content)
    with pytest.raises(LinkSpecError) as caught:
        load_links(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert message in str(caught.value)


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(LinkSpecError, match="No such file"):
        load_links(tmp_path / "none.json")
