//! Congestion controls: what each does to the window, and to the rate, behind one trait.

mod alpha;
mod bbr;
mod bbr3;
mod bbr3_model;
mod choice;
mod congestion_control;
mod cubic;
mod dctcp;
mod hystart;
mod max_filter;
mod prague;
mod reno;

pub use choice::Name;
pub use congestion_control::{CongestionControl, Lost, Trouble};
