"""What WEBRC's receiver shows of itself: the fields of docs/trace.md. Rates are in packets per second where they are
the protocol's, as the paper's; bits per second where a network carries them."""

import math
from typing import TYPE_CHECKING

from hosts.endpoint import Sample

if TYPE_CHECKING:
    from hosts.protocols.webrc.receiver import WebrcReceiver


def receiver_sample(receiver: "WebrcReceiver") -> Sample:
    """The receiver's trace row."""
    control, counters = receiver.control, receiver.counters
    rates = control.rates
    decoder = receiver.download.decoder
    return {
        "state": receiver.state,
        "received_bytes": receiver.received_bytes,
        "data_packets": counters["data_packets"],
        "duplicate_packets": counters["duplicate_packets"],
        "lost_packets": receiver.lost_packets,
        "loss_events": control.loss_events,
        "joins": counters["joins"],
        "failed_joins": counters["failed_joins"],
        "wasted_packets": counters["drop_not_joined"],
        "joined_waves": rates.waves_joined,
        "arr_packets_s": rates.arr,
        "trr_packets_s": rates.trr,
        "target_packets_s": control.trate,
        "equation_packets_s": _finite(control.reqn),
        "slow_start_packets_s": _finite(control.ssr),
        "startup_ended_by": control.startup_ended_by,
        "loss_event_rate": control.losses.lossp,
        "mrtt_s": control.mrtt,
        "artt_s": control.artt,
        "rate_bps": rates.trr * receiver.options.packet_bits,
        "symbols_needed": None if decoder is None else decoder.needed,
        "decoding_overhead": decoder.overhead if decoder is not None and decoder.is_whole else None,
    }


def _finite(rate: float) -> float | None:
    return rate if math.isfinite(rate) else None
