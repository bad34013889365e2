import pytest

from experiments.peers.network import FAR, NEAR, SENDER, receiver
from experiments.peers.transfer import TransferError, Window, amount

EPOCH = 1000.0
WINDOW = Window(EPOCH + 2.0, EPOCH + 10.0, sender_cpu_s=1.5, receiver_cpu_s=0.25)


def port(at: float, switch: str, neighbour: str, **counters: int) -> dict[str, object]:
    return {"t": at, "switch": switch, "port": 1, "neighbour": neighbour, **counters}


def ports() -> list[dict[str, object]]:
    """9 Mbps on the bottleneck, 5 from the sender, of which 4 % are lost."""
    rows = []
    for second in range(13):
        moved = min(max(second - 2, 0), 8)
        rows += [
            port(second, NEAR, FAR, tx_bytes=moved * 9_000_000 // 8),
            port(second, NEAR, SENDER, rx_bytes=moved * 5_000_000 // 8),
            port(second, FAR, receiver(1), tx_bytes=moved * 4_800_000 // 8),
        ]
    return rows


def test_rates_loss_and_time_come_from_the_window() -> None:
    flow = [{"t": float(second), "acked_bytes": second * 3_600_000 // 8} for second in range(13)]
    found = amount(ports(), flow, 4_000_000, EPOCH, WINDOW)
    assert found.seconds == 8.0
    assert found.goodput_bps == pytest.approx(4e6)
    assert found.filled == pytest.approx(0.9)
    assert found.tcp_bps == pytest.approx(3.6e6)
    assert found.loss == pytest.approx(0.04)
    assert (found.sender_cpu_s, found.receiver_cpu_s) == (1.5, 0.25)


def test_alone_there_is_no_tcp() -> None:
    assert amount(ports(), None, 4_000_000, EPOCH, WINDOW).tcp_bps is None


@pytest.mark.parametrize("flow", [[], [{"t": 3.0, "acked_bytes": 1}]])
def test_a_tcp_that_left_nothing_is_no_result(flow: list[dict[str, float]]) -> None:
    with pytest.raises(TransferError, match="nothing was measured"):
        amount(ports(), flow, 4_000_000, EPOCH, WINDOW)
    with pytest.raises(TransferError, match="nothing was measured"):
        amount([], None, 4_000_000, EPOCH, WINDOW)
