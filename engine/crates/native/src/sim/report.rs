//! Counts of links and nodes as dicts.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use sim::link::Reason;
use sim::network::{LinkReport, NodeReport};

pub fn link<'py>(py: Python<'py>, report: &LinkReport<'_>) -> PyResult<Bound<'py, PyDict>> {
    let stats = report.stats;
    let dict = PyDict::new(py);
    dict.set_item("from", report.from)?;
    dict.set_item("to", report.to)?;
    for (name, count) in [
        ("queue_packets", report.queue_packets),
        ("queue_bytes", report.queue_bytes),
        ("offered_packets", stats.offered_packets),
        ("offered_bytes", stats.offered_bytes),
        ("sent_packets", stats.sent_packets),
        ("sent_bytes", stats.sent_bytes),
        ("delivered_packets", stats.delivered_packets),
        ("delivered_bytes", stats.delivered_bytes),
        ("marked_packets", stats.marked_packets),
        ("max_queue_packets", stats.max_queue_packets),
        ("max_queue_bytes", stats.max_queue_bytes),
        ("drop_queue", stats.dropped(Reason::QueueFull)),
        ("drop_red", stats.dropped(Reason::RedEarly) + stats.dropped(Reason::RedForced)),
        ("drop_aqm", stats.dropped(Reason::Aqm)),
        ("drop_mtu", stats.dropped(Reason::Oversize)),
        ("reordered_packets", stats.reordered_packets),
        ("duplicated_packets", stats.duplicated_packets),
        ("drop_loss", stats.dropped(Reason::Loss)),
        ("drop_down", stats.dropped(Reason::Down)),
    ] {
        dict.set_item(name, count)?;
    }
    dict.set_item("mean_queue_packets", stats.mean_queue_packets())?;
    Ok(dict)
}

pub fn node(py: Python<'_>, report: NodeReport) -> PyResult<Bound<'_, PyDict>> {
    let counts: Vec<(&str, u64)> = match report {
        NodeReport::Router(drops) => vec![
            ("drop_ttl_expired", drops.ttl_expired),
            ("drop_no_route", drops.no_route),
            ("drop_wrong_port", drops.wrong_port),
            ("drop_no_members", drops.no_members),
            ("drop_bad_frame", drops.bad_frames),
        ],
        NodeReport::Switch(counts) => vec![("drop_no_link", counts.no_link), ("packet_ins", counts.packet_ins)],
        NodeReport::Host(counts, drops) => vec![
            ("sent_packets", counts.sent_packets),
            ("sent_bytes", counts.sent_bytes),
            ("received_packets", counts.received_packets),
            ("received_bytes", counts.received_bytes),
            ("drop_no_program", drops.no_program),
            ("drop_wrong_address", drops.wrong_address),
            ("drop_bad_frame", drops.bad_frames),
            ("drop_oversize", drops.oversize),
            ("drop_no_such_host", drops.no_such_host),
        ],
    };
    let dict = PyDict::new(py);
    counts.into_iter().try_for_each(|(name, count)| dict.set_item(name, count))?;
    Ok(dict)
}
