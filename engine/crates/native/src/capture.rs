//! The class `Capture`: where live switches write their ports' frames down.

use std::collections::BTreeMap;
use std::path::PathBuf;

use pyo3::prelude::*;

use crate::errors::os_error;

/// A folder of captures, INTERFACE_in.pcap and INTERFACE_out.pcap, which outlives the switches that write there.
#[pyclass(frozen, module = "canopy_engine")]
pub struct Capture {
    capture: live::Capture,
}

impl Capture {
    pub fn files(&self, py: Python<'_>, interface: &str) -> PyResult<live::PortCapture> {
        py.detach(|| self.capture.port(interface)).map_err(|error| os_error(&error, Some(interface)))
    }
}

#[pymethods]
impl Capture {
    /// Makes the folder. A file that would exceed the limit is put aside as NAME.1, and begun anew. Raises OSError.
    #[new]
    #[pyo3(signature = (folder, *, limit_bytes = u64::MAX))]
    fn new(py: Python<'_>, folder: PathBuf, limit_bytes: u64) -> PyResult<Self> {
        let made = py.detach(|| live::Capture::new(&folder, limit_bytes));
        let capture = made.map_err(|error| os_error(&error, Some(&folder.to_string_lossy())))?;
        Ok(Self { capture })
    }

    /// Frames written, and frames that found no room.
    fn stats(&self) -> BTreeMap<&'static str, u64> {
        self.capture.stats().into_iter().collect()
    }

    /// Writes what waits, and takes no more.
    fn close(&self, py: Python<'_>) {
        py.detach(|| self.capture.close());
    }
}
