//! The link against models and theory.

mod aqm;
mod disturb;
mod passing;
mod red_model;
mod theory;
mod timing;
