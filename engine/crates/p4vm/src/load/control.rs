//! Controls: conditionals, tables and action calls, linked into a graph without cycles.

use std::collections::HashMap;

use super::expr;
use super::typed::Scope;
use super::{next, table, Names, NodeNames};
use crate::ir::{Action, Next, Node, Pipeline, Profile, Table, END};
use crate::json::{At, Result};
use crate::LoadError;

pub(crate) struct Controls {
    pub nodes: Vec<Node>,
    pub ingress: Pipeline,
    pub egress: Pipeline,
    pub tables: Vec<Table>,
    pub profiles: Vec<Profile>,
}

pub(crate) fn load(root: &At<'_>, names: &Names, actions: &[Action]) -> Result<Controls> {
    let mut controls = Controls {
        nodes: Vec::new(),
        ingress: Pipeline { start: END },
        egress: Pipeline { start: END },
        tables: Vec::new(),
        profiles: Vec::new(),
    };
    let mut profile_names = HashMap::new();
    let mut seen = Vec::new();
    for at in root.list("pipelines")? {
        let name = at.get("name")?;
        let start = pipeline(&at, names, actions, &mut controls, &mut profile_names)?;
        match name.str()? {
            "ingress" => controls.ingress.start = start,
            "egress" => controls.egress.start = start,
            other => return Err(name.error(format!("v1model has no pipeline {other}"))),
        }
        seen.push(name.str()?);
    }
    if let Some(missing) = ["ingress", "egress"].into_iter().find(|name| !seen.contains(name)) {
        return Err(LoadError::new("pipelines", format!("there is no {missing}")));
    }
    Ok(controls)
}

fn pipeline(
    at: &At<'_>,
    names: &Names,
    actions: &[Action],
    controls: &mut Controls,
    profile_names: &mut HashMap<String, u32>,
) -> Result<Next> {
    for profile in at.list("action_profiles")? {
        let name = profile.string("name")?.to_owned();
        profile_names.insert(name, controls.profiles.len() as u32);
        controls.profiles.push(table::profile(&profile, names)?);
    }
    let (tables, conditionals) = (at.list("tables")?, at.list("conditionals")?);
    let calls = at.list("action_calls")?;
    let (first, mut by_name) = (controls.nodes.len() as Next, NodeNames::new());
    for (i, node) in tables.iter().chain(&conditionals).chain(&calls).enumerate() {
        let name = node.string("name")?;
        if by_name.insert(name.to_owned(), first + i as Next).is_some() {
            return Err(node.error(format!("there are two {name} in this pipeline")));
        }
    }
    for node in &tables {
        let loaded = table::table(node, names, actions, &by_name, &mut controls.profiles, profile_names)?;
        if controls.tables.iter().any(|table| table.name == loaded.name) {
            return Err(node.error(format!("there are two tables {}", loaded.name)));
        }
        controls.nodes.push(apply_or_call(&loaded, controls.tables.len() as u32));
        controls.tables.push(loaded);
    }
    let scope = Scope { names, params: &[] };
    for node in &conditionals {
        controls.nodes.push(Node::If {
            condition: expr::condition(&node.get("expression")?, &scope)?,
            then: next(node.opt("true_next"), &by_name)?,
            otherwise: next(node.opt("false_next"), &by_name)?,
        });
    }
    for node in &calls {
        let id = node.get("action_id")?;
        let action = names.actions.get(&id.id()?).copied().ok_or_else(|| id.error("no action has this id"))?;
        if actions.get(action as usize).is_none_or(|action| !action.params.is_empty()) {
            return Err(id.error("an action that is called directly has no parameters"));
        }
        controls.nodes.push(Node::Call {
            action,
            args: Box::<[u64]>::default().into(),
            next: next(node.opt("next_node"), &by_name)?,
        });
    }
    check_acyclic(at, &controls.nodes, first, &controls.tables)?;
    next(at.opt("init_table"), &by_name)
}

/// p4c makes tables of statements: without key and with one constant action. Those are plain calls.
fn apply_or_call(table: &Table, index: u32) -> Node {
    let fixed = table.key.is_empty() && table.const_default_action && table.const_default_entry;
    match &table.default {
        Some(call) if fixed && table.profile.is_none() => match table.actions.get(call.slot as usize) {
            Some(&(action, after)) => {
                let next = table.hit_miss.map_or(after, |(_, miss)| miss);
                Node::Call { action, args: call.args.clone(), next }
            }
            None => Node::Apply(index),
        },
        _ => Node::Apply(index),
    }
}

fn successors(node: &Node, tables: &[Table]) -> Vec<Next> {
    match node {
        Node::If { then, otherwise, .. } => vec![*then, *otherwise],
        Node::Call { next, .. } => vec![*next],
        Node::Apply(table) => {
            let Some(table) = tables.get(*table as usize) else { return Vec::new() };
            let by_action = table.actions.iter().map(|(_, next)| *next);
            let by_result = table.hit_miss.map(|(hit, miss)| [hit, miss]).into_iter().flatten();
            by_action.chain(by_result).chain([table.base_next]).collect()
        }
    }
}

/// A packet passes each node at most once: a cycle would hold it for ever.
fn check_acyclic(at: &At<'_>, nodes: &[Node], first: Next, tables: &[Table]) -> Result<()> {
    #[derive(Clone, Copy, PartialEq)]
    enum Mark {
        New,
        Open,
        Done,
    }
    let mut marks = vec![Mark::New; nodes.len()];
    for root in first as usize..nodes.len() {
        let mut path = vec![(root, None::<Vec<Next>>)];
        while let Some((node, rest)) = path.last_mut() {
            let Some(mark) = marks.get_mut(*node) else { break };
            if *mark == Mark::Done {
                path.pop();
                continue;
            }
            let rest = match rest {
                Some(rest) => rest,
                None if *mark == Mark::Open => return Err(at.error("its tables and conditionals form a cycle")),
                None => {
                    *mark = Mark::Open;
                    rest.insert(nodes.get(*node).map(|node| successors(node, tables)).unwrap_or_default())
                }
            };
            match rest.pop() {
                Some(END) => {}
                Some(next) => path.push((next as usize, None)),
                None => {
                    *mark = Mark::Done;
                    path.pop();
                }
            }
        }
    }
    Ok(())
}
