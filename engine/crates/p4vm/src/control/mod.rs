//! Control operations: what the control plane reads and writes, by the JSON's names.

mod events;
mod externs;
mod profiles;
mod replication;
mod tables;
mod trace;
mod value_sets;

use crate::ir::Action;
use crate::value::bytes;
use crate::{ActionInfo, ControlError};

type Result<T> = std::result::Result<T, ControlError>;

/// The index of a named object, or the error that names it.
fn find<T>(objects: &[T], what: &str, name: &str, name_of: impl Fn(&T) -> &str) -> Result<usize> {
    let found = objects.iter().position(|object| name_of(object) == name);
    found.ok_or_else(|| ControlError::not_found(format!("no {what} {name}")))
}

/// Pack an action's parameters, checking their number and widths.
fn pack(action: &Action, params: &[Vec<u8>]) -> Result<Box<[u64]>> {
    if params.len() != action.params.len() {
        let (name, wanted) = (&action.name, action.params.len());
        let message = format!("action {name} has {wanted} parameters, not {}", params.len());
        return Err(ControlError::invalid(message));
    }
    let mut args = Vec::with_capacity(action.arg_words as usize);
    for (param, value) in action.params.iter().zip(params) {
        let words = bytes::to_words(value, param.bits).ok_or_else(|| {
            let (name, bits) = (&param.name, param.bits);
            ControlError::invalid(format!("parameter {name} of action {} does not fit {bits} bits", action.name))
        })?;
        args.extend(words);
    }
    Ok(args.into())
}

fn action_info(action: &Action) -> ActionInfo {
    let params = action.params.iter().map(|param| (param.name.clone(), param.bits));
    ActionInfo { name: action.name.clone(), params: params.collect() }
}
