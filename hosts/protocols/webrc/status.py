"""What WEBRC's receiver shows of itself: the fields of docs/trace.md. Rates are in packets per second where they are
the protocol's, as the paper's; bits per second where a network carries them."""

import math

from hosts.endpoint import Sample
from hosts.parts.receiving import SessionReceiver
from hosts.protocols.webrc.control import ReceptionControl
from hosts.protocols.webrc.flute.decoding import ObjectDecoder


def receiver_sample(
    receiver: SessionReceiver,
    control: ReceptionControl,
    decoder: ObjectDecoder | None,
    *,
    received_bytes: int,
    lost_packets: int,
    packet_bits: int,
) -> Sample:
    """The receiver's trace row."""
    counters = receiver.counters
    rates = control.rates
    return {
        "state": receiver.state,
        "received_bytes": received_bytes,
        "data_packets": counters["data_packets"],
        "duplicate_packets": counters["duplicate_packets"],
        "lost_packets": lost_packets,
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
        "rate_bps": rates.trr * packet_bits,
        "object_bytes": None if decoder is None else decoder.transmission.length,
        "symbols_needed": None if decoder is None else decoder.needed,
        "decoding_overhead": decoder.overhead if decoder is not None and decoder.is_whole else None,
    }


def _finite(rate: float) -> float | None:
    return rate if math.isfinite(rate) else None
