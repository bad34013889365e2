//! Names and places in the program's text, by the indices that the rest uses.

use std::collections::HashMap;

#[derive(Debug, Default)]
pub(crate) struct Sources {
    /// Names of the parser's states.
    pub states: Vec<Box<str>>,
    /// Of each node of the controls: file, line and text, or its name.
    pub nodes: Vec<Box<str>>,
    /// Of each action's primitives: file, line and text, or nothing.
    pub actions: Vec<Vec<Box<str>>>,
    /// Names of the errors.
    pub errors: HashMap<u32, Box<str>>,
}
