//! The live switch: a p4vm between AF_PACKET ports, each with its emulated link.

mod events;
mod shared;

pub use events::{EventQueue, SwitchEvent};
pub use shared::SharedSwitch;
