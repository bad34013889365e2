from pathlib import Path

from tests.topologies.scenarios import small_scenario
from topologies.emulation.flow_run import sink_command, source_command

SCENARIO = small_scenario()
NOWHERE = Path("/nowhere")


def option(command: list[str], name: str) -> str:
    return command[command.index(name) + 1]


def test_flows_are_told_what_they_are() -> None:
    tcp, udp, on_off = (source_command(flow, "10.0.0.1:6001", NOWHERE, 100.0, 5) for flow in SCENARIO.traffic)
    assert "tcp-source" in tcp
    assert option(tcp, "--congestion-control") == "cubic"
    assert "--pacing" not in tcp
    paced = SCENARIO.traffic[0].model_copy(update={"pacing": True})
    assert "--pacing" in source_command(paced, "10.0.0.1:6001", NOWHERE, 100.0, 5)
    assert "udp-source" in udp
    assert float(option(udp, "--rate")) == 1e6
    assert "--on" not in udp
    assert (float(option(on_off, "--on")), float(option(on_off, "--off"))) == (0.1, 0.3)
    assert option(on_off, "--distribution") == "exponential"
    sinks = [sink_command(flow, "10.0.0.1:6001", NOWHERE, 100.0) for flow in SCENARIO.traffic]
    assert [option(sink, "-m") for sink in sinks] == ["topologies.emulation.flow"] * 3
    assert [option(sink, "topologies.emulation.flow") for sink in sinks] == ["tcp-sink", "udp-sink", "udp-sink"]
