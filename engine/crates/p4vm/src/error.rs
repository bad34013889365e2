//! What can go wrong: a program that does not load, a control operation that is refused.

use std::fmt;

/// The text given is not a BMv2 JSON that this machine can run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadError {
    /// The place in the JSON, as in `actions[3].primitives[0].parameters`; empty for the document itself.
    pub path: String,
    /// What is wrong there.
    pub message: String,
}

impl LoadError {
    pub(crate) fn new(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self { path: path.into(), message: message.into() }
    }
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() {
            f.write_str(&self.message)
        } else {
            write!(f, "{}: {}", self.path, self.message)
        }
    }
}

impl std::error::Error for LoadError {}

/// Why a control operation was refused; the names are gRPC's, as P4Runtime uses them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorCode {
    NotFound,
    AlreadyExists,
    InvalidArgument,
    ResourceExhausted,
    Unimplemented,
}

impl ErrorCode {
    /// The code in the Python contract's spelling.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NotFound => "not_found",
            Self::AlreadyExists => "already_exists",
            Self::InvalidArgument => "invalid_argument",
            Self::ResourceExhausted => "resource_exhausted",
            Self::Unimplemented => "unimplemented",
        }
    }
}

/// A control operation was refused, and nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ControlError {
    pub code: ErrorCode,
    pub message: String,
}

impl ControlError {
    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Self { code: ErrorCode::NotFound, message: message.into() }
    }

    pub(crate) fn exists(message: impl Into<String>) -> Self {
        Self { code: ErrorCode::AlreadyExists, message: message.into() }
    }

    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self { code: ErrorCode::InvalidArgument, message: message.into() }
    }

    pub(crate) fn exhausted(message: impl Into<String>) -> Self {
        Self { code: ErrorCode::ResourceExhausted, message: message.into() }
    }

    pub(crate) fn unimplemented(message: impl Into<String>) -> Self {
        Self { code: ErrorCode::Unimplemented, message: message.into() }
    }
}

impl fmt::Display for ControlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code.as_str(), self.message)
    }
}

impl std::error::Error for ControlError {}
