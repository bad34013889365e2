//! Why an operation on a live switch was refused.

use std::fmt;
use std::io;

use link::ConfigError;

#[derive(Debug)]
pub enum LiveError {
    /// The interface is missing or may not be opened.
    Os {
        interface: String,
        error: io::Error,
    },
    /// A link's parameter is out of its range.
    Link(ConfigError),
    /// Not a number that a port may have.
    InvalidPort(u16),
    NoPort(u16),
    PortExists(u16),
    NotRunning,
    /// Too many packet-outs wait.
    Busy,
}

impl fmt::Display for LiveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LiveError::Os { interface, error } => write!(f, "{interface}: {error}"),
            LiveError::Link(error) => write!(f, "link: {error}"),
            LiveError::InvalidPort(port) => write!(f, "{port} is not a port of this switch"),
            LiveError::NoPort(port) => write!(f, "there is no port {port}"),
            LiveError::PortExists(port) => write!(f, "there is a port {port} already"),
            LiveError::NotRunning => write!(f, "the switch is not running"),
            LiveError::Busy => write!(f, "too many packets wait to be injected"),
        }
    }
}

impl std::error::Error for LiveError {}

impl From<ConfigError> for LiveError {
    fn from(error: ConfigError) -> Self {
        LiveError::Link(error)
    }
}
