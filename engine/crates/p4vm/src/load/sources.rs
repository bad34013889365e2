//! What the program's text says where, for traces: nothing of it is needed to run.

use std::collections::HashMap;

use crate::ir::Sources;
use crate::json::{At, Result};

/// In the order in which states, nodes and actions are loaded.
pub(crate) fn load(root: &At<'_>) -> Result<Sources> {
    let mut sources = Sources::default();
    if let Some(parser) = root.list("parsers")?.into_iter().next() {
        for state in parser.list("parse_states")? {
            sources.states.push(state.string("name")?.into());
        }
    }
    for pipeline in root.list("pipelines")? {
        for kind in ["tables", "conditionals", "action_calls"] {
            for node in pipeline.list(kind)? {
                let text = source(&node);
                sources.nodes.push(if text.is_empty() { node.string("name")?.into() } else { text });
            }
        }
    }
    for action in root.list("actions")? {
        sources.actions.push(action.list("primitives")?.iter().map(source).collect());
    }
    let mut errors = HashMap::new();
    for error in root.list("errors")? {
        errors.insert(error.at(1)?.number(u64::from(u32::MAX))? as u32, error.at(0)?.str()?.into());
    }
    sources.errors = errors;
    Ok(sources)
}

/// File, line and text; empty where the JSON does not say, or says something else.
fn source(at: &At<'_>) -> Box<str> {
    let info = at.opt("source_info");
    let part = |key| info.as_ref().and_then(|info| info.opt(key));
    let (file, line, text) = (part("filename"), part("line"), part("source_fragment"));
    match (file.as_ref().and_then(|at| at.value.as_str()), line, text.as_ref().and_then(|at| at.value.as_str())) {
        (Some(file), Some(line), Some(text)) => format!("{file}({}) {text}", line.value).into(),
        _ => "".into(),
    }
}
