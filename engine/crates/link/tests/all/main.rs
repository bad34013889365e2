//! The link against models and theory.

mod passing;
mod red_model;
mod theory;
mod timing;
