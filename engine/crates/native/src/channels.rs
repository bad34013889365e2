//! What a WEBRC sender's channels send at a moment, made at once (hosts/protocols/webrc/channel_runs.py).

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};

use crate::slots::Place;

/// A channel's datagrams so far.
struct Run {
    channel: usize,
    /// Bytes of each.
    size: usize,
    data: Vec<u8>,
}

/// Gathers the datagrams of each channel.
#[pyclass(module = "canopy_engine")]
pub struct ChannelPackets {
    /// Bytes of a run, at most; 0: each datagram is alone, and all of them are in order.
    most: usize,
    /// Where in `found` a channel's run is that may be added to.
    open: Vec<Option<usize>>,
    found: Vec<Run>,
    packets: usize,
    octets: usize,
}

impl ChannelPackets {
    fn put(&mut self, channel: u32, head: &[u8], rest: &[u8]) -> PyResult<()> {
        let (channel, size) = (channel as usize, head.len() + rest.len());
        let Some(open) = self.open.get_mut(channel) else { return Err(PyValueError::new_err("no such channel")) };
        let goes_on =
            |place: &usize| self.found[*place].size == size && self.found[*place].data.len() + size <= self.most;
        let place = open.filter(goes_on).unwrap_or_else(|| {
            self.found.push(Run { channel, size, data: Vec::new() });
            self.found.len() - 1
        });
        *open = Some(place);
        let data = &mut self.found[place].data;
        data.extend_from_slice(head);
        data.extend_from_slice(rest);
        self.packets += 1;
        self.octets += size;
        Ok(())
    }
}

#[pymethods]
impl ChannelPackets {
    #[new]
    fn new(channels: usize, most: usize) -> Self {
        Self { most, open: vec![None; channels], found: Vec::new(), packets: 0, octets: 0 }
    }

    #[getter]
    fn packets(&self) -> usize {
        self.packets
    }

    #[getter]
    fn octets(&self) -> usize {
        self.octets
    }

    fn add(&mut self, channel: u32, datagram: &[u8]) -> PyResult<()> {
        self.put(channel, datagram, &[])
    }

    /// Each symbol in a packet of its own, in the places in turn. `head` is a packet's up to the symbol, with any place and
    /// number.
    fn add_symbols(
        &mut self,
        places: Vec<Place>,
        head: &[u8],
        is_long: bool,
        first: u32,
        symbols: &Bound<'_, PyList>,
    ) -> PyResult<()> {
        let mut head = head.to_vec();
        let number_at = head.len().checked_sub(4).filter(|at| *at >= 12);
        let number_at = number_at.ok_or_else(|| PyValueError::new_err("a head has places and a number"))?;
        for ((place, symbol), number) in places.into_iter().zip(symbols.iter()).zip(first..) {
            let (channel, slot_index, psn) = place;
            if is_long {
                head[4..6].copy_from_slice(&(slot_index as u16).to_be_bytes());
                head[6..8].copy_from_slice(&(channel as u16).to_be_bytes());
                head[8..12].copy_from_slice(&psn.to_be_bytes());
            } else {
                (head[4], head[5]) = (slot_index as u8, channel as u8);
                head[6..8].copy_from_slice(&(psn as u16).to_be_bytes());
            }
            head[number_at..].copy_from_slice(&number.to_be_bytes());
            self.put(channel, &head, symbol.cast::<PyBytes>()?.as_bytes())?;
        }
        Ok(())
    }

    /// Channel, datagrams and bytes of each of them, in the order in which their first ones came; and forgets them.
    fn take<'py>(&mut self, py: Python<'py>) -> Vec<(usize, Bound<'py, PyBytes>, usize)> {
        self.open.fill(None);
        let found = std::mem::take(&mut self.found);
        found.into_iter().map(|run| (run.channel, PyBytes::new(py, &run.data), run.size)).collect()
    }
}
