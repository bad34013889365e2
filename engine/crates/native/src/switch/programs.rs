//! The programs that were loaded last: a network's switches all run the same one, or one of a few, which is read, and made
//! native code, once.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use p4vm::{LoadError, Program};

/// Programs that are kept, with their texts, of some megabytes each at most (ours).
const KEPT: usize = 4;

/// The newest last.
static LAST: Mutex<Vec<(Box<str>, Arc<Program>)>> = Mutex::new(Vec::new());

/// The program of p4c's BMv2 JSON. Others are not kept waiting while one is read.
pub(super) fn load(json: &str) -> Result<Arc<Program>, LoadError> {
    if let Some(program) = found(json) {
        return Ok(program);
    }
    let program = Program::from_json(json)?;
    let mut last = last();
    if last.len() >= KEPT {
        last.remove(0);
    }
    last.push((json.into(), Arc::clone(&program)));
    Ok(program)
}

/// One that is kept, which is the newest then.
fn found(json: &str) -> Option<Arc<Program>> {
    let mut last = last();
    let at = last.iter().position(|(text, _)| **text == *json)?;
    let kept = last.remove(at);
    let program = Arc::clone(&kept.1);
    last.push(kept);
    Some(program)
}

/// What it holds is whole at any time.
fn last() -> MutexGuard<'static, Vec<(Box<str>, Arc<Program>)>> {
    LAST.lock().unwrap_or_else(PoisonError::into_inner)
}
