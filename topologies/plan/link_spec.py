"""A directed link as the engine takes it, for the embedded switch's ports and for the simulator's links alike."""

from typing import TYPE_CHECKING

from topologies.plan.plan import derive_seed
from topologies.scenario.network import DirectedLink, GilbertElliott, Red

if TYPE_CHECKING:
    from canopy_engine import LinkSpec


def link_spec(link: DirectedLink, scenario_seed: int) -> "LinkSpec":
    """The link as engine/stubs/canopy_engine.pyi describes it, with a seed of its own for its random choices."""
    spec: LinkSpec = {
        "delay_us": link.delay_s * 1e6,
        "queue": link.queue.kind,
        "seed": derive_seed(scenario_seed, f"link {link.source} {link.destination}"),
    }
    if isinstance(link.loss, GilbertElliott):
        bursts = link.loss
        spec["gilbert_elliott"] = (bursts.good_to_bad, bursts.bad_to_good, bursts.good, bursts.bad)
    else:
        spec["loss"] = link.loss
    if link.rate_bps is not None:
        spec["rate_bps"] = link.rate_bps
    if link.queue.packets is not None:
        spec["limit_packets"] = link.queue.packets
    if link.queue.bytes is not None:
        spec["limit_bytes"] = link.queue.bytes
    if isinstance(link.queue, Red):
        spec["red_min"] = link.queue.min_threshold
        spec["red_max"] = link.queue.max_threshold
        spec["red_weight"] = link.queue.weight
        spec["red_max_p"] = link.queue.max_probability
        spec["red_gentle"] = link.queue.gentle
        spec["red_wait"] = link.queue.wait
        spec["red_ecn"] = link.queue.ecn
        spec["red_mean_packet_bytes"] = link.queue.mean_packet
    return spec
