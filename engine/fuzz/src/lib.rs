//! What the fuzz targets share: switches with our program as a controller sets it up, and what must hold of whatever
//! leaves them. docs/switch.md, "Fuzzing", says how to run them.

mod checks;
mod frames;
mod json;
mod states;
mod world;

pub use checks::check_outputs;
pub use frames::{canopy_frame, igmp_frame, Steps};
pub use json::mutate_json;
pub use states::compare_states;
pub use world::{World, PORTS};
