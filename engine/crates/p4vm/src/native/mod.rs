//! The program as native code, which Cranelift makes of what the interpreter runs: one function for the parser, for each
//! control and action, for the verification of checksums, and for the deparser. The header vector, tables, registers and
//! all else is the interpreter's; what is not in line is a call of the interpreter's own functions, so that both do the
//! same.
//!
//! Traced packets go through the interpreter.

mod action;
mod code;
mod compile;
mod control;
mod deparser;
mod emit;
mod expr;
mod helpers;
mod number;
mod parser;
#[cfg(test)]
mod tests;
mod workshop;
mod writes;

pub(crate) use code::prefetch;
pub(crate) use compile::Native;

/// Why there is no native code of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure(pub String);

impl From<&str> for Failure {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

macro_rules! failure_from {
    ($($error:ty),*) => {
        $(impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                Self(error.to_string())
            }
        })*
    };
}

failure_from!(cranelift_codegen::settings::SetError, cranelift_codegen::CodegenError, cranelift_module::ModuleError);
