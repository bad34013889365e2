import json
from pathlib import Path

import pytest

from tests.topologies.scenarios import small_scenario
from topologies.emulation.sampler import Sampler, read_interface_counters, read_port_stats
from topologies.plan import make_plan
from topologies.results.run_folder import RunFolder, read_series

PROC_NET_DEV = """\
Inter-|   Receive                  |  Transmit
 face |bytes    packets errs drop ...|bytes    packets errs drop ...
    lo: 1 2 0 0 0 0 0 0 3 4 0 0 0 0 0 0
s1-eth2:6831736    5000    0    1    0     0   0     7 123456789  90000    0    0    0     0   0     0
"""


def status(session: int, updated_at: float) -> dict[str, object]:
    return {
        "version": 1,
        "session": session,
        "protocol": "mtcp",
        "group": "232.1.0.3",
        "source": "10.0.0.2",
        "state": "sending",
        "updated_at": updated_at,
        "sent_bytes": 700,
        "limiting": {"receiver": "10.0.0.3", "reason": "cwnd"},
        "receivers": {"10.0.0.1": {"acked_bytes": 600}, "10.0.0.3": {"acked_bytes": 500, "lost_packets": 2}},
    }


@pytest.fixture
def sampler(tmp_path: Path) -> Sampler:
    folder = RunFolder(tmp_path)
    folder.series.mkdir()
    folder.logs.mkdir()
    (tmp_path / "state" / "sessions").mkdir(parents=True)
    (tmp_path / "state" / "switches").mkdir()
    return Sampler(make_plan(small_scenario()), folder, tmp_path / "state")


def test_counters_are_read_by_interface() -> None:
    assert read_interface_counters(PROC_NET_DEV)["s1-eth2"] == {
        "rx_bytes": 6831736,
        "rx_packets": 5000,
        "tx_bytes": 123456789,
        "tx_packets": 90000,
    }


@pytest.mark.parametrize("text", [None, "", "{", "[]", '{"ports": 3}'])
def test_statistics_that_are_not_there_are_none(tmp_path: Path, text: str | None) -> None:
    if text is not None:
        (tmp_path / "s1.json").write_text(text)
    assert not read_port_stats(tmp_path / "s1.json")


def test_queues_are_sampled_per_port(sampler: Sampler, tmp_path: Path) -> None:
    stats = {"ports": {"2": {"queue_packets": 9, "queue_bytes": 9000, "drop_loss": 1}}}
    (tmp_path / "state" / "switches" / "s1.json").write_text(json.dumps(stats))
    sampler.sample()
    sampler.close()
    rows = {(row["switch"], row["port"]): row for row in read_series(tmp_path / "series" / "ports.jsonl")}
    assert set(rows) == {("s1", 1), ("s1", 2), ("s2", 7), ("s2", 1), ("s2", 2)}
    assert rows["s1", 2]["queue_packets"] == 9
    assert rows["s1", 2]["neighbour"] == "s2"
    assert "queue_packets" not in rows["s2", 7]


def test_a_status_is_written_once_and_with_names(sampler: Sampler, tmp_path: Path) -> None:
    path = tmp_path / "state" / "sessions" / "3.json"
    path.write_text(json.dumps(status(3, sampler.epoch + 1.5)))
    sampler.sample()
    sampler.sample()
    path.write_text(json.dumps(status(3, sampler.epoch + 2.0)))
    sampler.sample()
    sampler.event(2.5, "kill switch", "s1")
    sampler.close()
    sessions = read_series(tmp_path / "series" / "sessions.jsonl")
    assert [row["t"] for row in sessions] == pytest.approx([1.5, 2.0])
    assert (sessions[0]["limiting"], sessions[0]["limiting_reason"]) == ("c", "cwnd")
    receivers = read_series(tmp_path / "series" / "receivers.jsonl")
    assert [(row["receiver"], row["acked_bytes"]) for row in receivers[:2]] == [("b", 600), ("c", 500)]
    assert sampler.sessions[3].updated_at == pytest.approx(sampler.epoch + 2.0)
    event = read_series(tmp_path / "series" / "events.jsonl")[0]
    assert event == {"t": 2.5, "kind": "kill switch", "subject": "s1"}


def test_an_unknown_address_stands_for_itself(sampler: Sampler) -> None:
    assert sampler.host_name("10.0.0.2") == "a"
    assert sampler.host_name("10.9.9.9") == "10.9.9.9"


def test_a_receiver_speaks_for_itself_where_its_sender_knows_nothing_of_it(sampler: Sampler, tmp_path: Path) -> None:
    """As of real-time data. Who has not heard of the session yet is left out."""
    said = status(3, sampler.epoch + 1.5) | {"receivers": {}}
    (tmp_path / "state" / "sessions" / "3.json").write_text(json.dumps(said))
    for host, state in (("a", "sending"), ("b", "member"), ("c", "listening")):  # the sender's trace is no receiver's
        rows = [{"trace": 1, "role": "receiver"}, {"t": 0.2, "state": state, "received_bytes": 0}]
        if state == "member":
            rows[1] |= {"received_bytes": 5000, "lost_packets": 3, "loss_rate": 0.01, "rtt_s": 0.03, "rate_bps": 2e5}
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (tmp_path / "series" / f"session-3-{host}.jsonl").write_text(text)
    sampler.sample()
    sampler.close()
    (row,) = read_series(tmp_path / "series" / "receivers.jsonl")
    assert (row["receiver"], row["state"], row["acked_bytes"], row["lost_packets"]) == ("b", "active", 5000, 3)
    assert (row["rtt_s"], row["loss_rate"], row["rate_bps"]) == (0.03, 0.01, 2e5)
