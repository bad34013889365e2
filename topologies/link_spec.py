"""A link as the engine is told of it, for the simulator and the embedded switch alike."""

from typing import TYPE_CHECKING

from topologies.plan import derive_seed
from topologies.scenario.network import AnyQueue, Codel, DirectedLink, DualPi2, FqCodel, GilbertElliott, Pie, Red

if TYPE_CHECKING:
    import canopy_engine


def link_spec(link: DirectedLink, scenario_seed: int) -> "canopy_engine.LinkSpec":
    """The link as engine/stubs/canopy_engine.pyi describes it, with a seed of its own for its random choices."""
    spec: canopy_engine.LinkSpec = {
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
    if link.reorder is not None:
        spec["reorder"] = link.reorder.probability
        spec["reorder_delay_us"] = link.reorder.delay * 1e6
    if link.duplicate:
        spec["duplicate"] = link.duplicate
    if link.mtu is not None:
        spec["mtu"] = link.mtu
    if link.queue.packets is not None:
        spec["limit_packets"] = link.queue.packets
    if link.queue.bytes is not None:
        spec["limit_bytes"] = link.queue.bytes
    _describe_queue(spec, link.queue)
    return spec


def _describe_queue(spec: "canopy_engine.LinkSpec", queue: AnyQueue) -> None:
    """Put in what the kind of queue has beside its limit."""
    if isinstance(queue, Red):
        spec["red_min"] = queue.min_threshold
        spec["red_max"] = queue.max_threshold
        spec["red_weight"] = queue.weight
        spec["red_max_p"] = queue.max_probability
        spec["red_gentle"] = queue.gentle
        spec["red_wait"] = queue.wait
        spec["red_ecn"] = queue.ecn
        spec["red_mean_packet_bytes"] = queue.mean_packet
        return
    if isinstance(queue, Codel | FqCodel | Pie | DualPi2):
        spec["target_us"] = queue.target * 1e6
    if isinstance(queue, Codel | FqCodel):
        spec["interval_us"] = queue.interval * 1e6
    if isinstance(queue, Codel | FqCodel | Pie):
        spec["ecn"] = queue.ecn
    if isinstance(queue, FqCodel):
        spec["flows"] = queue.flows
        spec["quantum"] = queue.quantum
    if isinstance(queue, Pie | DualPi2):
        spec["update_us"] = queue.update * 1e6
        spec["alpha"] = queue.alpha
        spec["beta"] = queue.beta
    if isinstance(queue, Pie):
        spec["max_burst_us"] = queue.max_burst * 1e6
    if isinstance(queue, DualPi2):
        spec["coupling"] = queue.coupling
        spec["step_us"] = queue.step * 1e6
        spec["ramp_us"] = queue.ramp * 1e6
