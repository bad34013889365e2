//! From p4c's BMv2 JSON to the program as it runs.

mod action;
mod arrays;
mod calculation;
mod control;
mod expr;
mod groups;
mod headers;
mod live;
mod operator;
mod parser;
mod range;
mod reads;
pub(crate) mod rewrite;
mod sources;
mod table;
mod typed;
mod words;

use std::collections::HashMap;

use crate::ir::{CoreErrors, Deparser, FieldList, HeaderLength, Intrinsics, LearnList, Live, Next, Program, END};
use crate::json::{self, At, Result};
use crate::LoadError;
use headers::Headers;

/// Ids of field and learn lists are small numbers; BMv2 keeps them in 16 bits.
const MAX_LIST_ID: u64 = 65_535;

/// Names that other parts of the JSON refer to.
#[derive(Debug, Default)]
pub(crate) struct Names {
    pub headers: Headers,
    pub registers: HashMap<String, u32>,
    pub register_bits: Vec<u32>,
    pub counters: HashMap<String, u32>,
    pub meters: HashMap<String, u32>,
    /// Where direct meters write their colour.
    pub meter_targets: HashMap<String, crate::ir::Field>,
    pub calculations: HashMap<String, u32>,
    pub value_sets: HashMap<String, u32>,
    pub actions: HashMap<i64, u32>,
    pub action_names: HashMap<String, u32>,
}

/// Nodes of a pipeline by name, before they are linked.
pub(crate) type NodeNames = HashMap<String, Next>;

pub(crate) fn next(at: Option<At<'_>>, nodes: &NodeNames) -> Result<Next> {
    let Some(at) = at else { return Ok(END) };
    let next = nodes.get(at.str()?).copied();
    next.ok_or_else(|| at.error(format!("no table, conditional or action call {}", at.value)))
}

/// The program of p4c's BMv2 JSON. Never panics; the error names the place in the JSON.
pub(crate) fn from_json(text: &str) -> std::result::Result<Program, LoadError> {
    let document = json::parse(text)?;
    load(&At::root(&document))
}

fn load(root: &At<'_>) -> Result<Program> {
    check_version(root)?;
    let mut names = Names { headers: Headers::load(root)?, ..Names::default() };
    let (registers, counters, meters) = arrays::load(root, &mut names)?;
    let calculations = calculation::load(root, &mut names)?;
    let errors = core_errors(root)?;
    let mut value_sets = parser::value_sets(root, &mut names)?;
    let parser = parser::load(root, &names, &mut value_sets)?;
    let actions = action::load(root, &mut names)?;
    let deparser = load_deparser(root, &names)?;
    let controls = control::load(root, &names, &actions)?;
    let checksums = calculation::checksums(root, &names, &calculations)?;
    let (learn_lists, field_lists) = lists(root, &names)?;
    let intrinsics = intrinsics(root, &names)?;
    let Headers { headers, stacks, unions, union_stacks, blank, .. } = names.headers;
    let mut program = Program {
        headers,
        stacks,
        unions,
        union_stacks,
        blank,
        parser,
        value_sets,
        nodes: controls.nodes,
        ingress: controls.ingress,
        egress: controls.egress,
        deparser,
        checksums,
        calculations,
        actions,
        tables: controls.tables,
        profiles: controls.profiles,
        registers,
        counters,
        meters,
        learn_lists,
        field_lists,
        intrinsics,
        errors,
        sources: sources::load(root)?,
        live: Live::default(),
    };
    let live = live::analyse(&program);
    groups::add(&mut program, live);
    Ok(program)
}

/// The format is versioned since 2.0; minor versions only add.
fn check_version(root: &At<'_>) -> Result<()> {
    if !root.value.is_object() {
        return Err(root.error("not a BMv2 JSON: not an object"));
    }
    let Some(version) = root.opt("__meta__").and_then(|meta| meta.opt("version")) else { return Ok(()) };
    let major = version.at(0)?.number(u64::MAX)?;
    if major != 2 {
        return Err(version.error(format!("version {major} of the format is not supported, only 2")));
    }
    Ok(())
}

fn core_errors(root: &At<'_>) -> Result<CoreErrors> {
    let mut values = HashMap::new();
    for error in root.list("errors")? {
        values.insert(error.at(0)?.str()?, error.at(1)?.number(u64::from(u32::MAX))? as u32);
    }
    // BMv2 gives core.p4's errors values of their own where the program does not use them; core.p4's order is as good.
    let value = |name: &str, otherwise| values.get(name).copied().unwrap_or(otherwise);
    Ok(CoreErrors {
        no_error: value("NoError", 0),
        packet_too_short: value("PacketTooShort", 1),
        stack_out_of_bounds: value("StackOutOfBounds", 3),
        header_too_short: value("HeaderTooShort", 4),
        parser_timeout: value("ParserTimeout", 5),
        parser_invalid_argument: value("ParserInvalidArgument", 6),
    })
}

fn load_deparser(root: &At<'_>, names: &Names) -> Result<Deparser> {
    let Some(deparser) = root.list("deparsers")?.into_iter().next() else {
        return Err(LoadError::new("deparsers", "there is none"));
    };
    let mut order = Vec::new();
    for header in deparser.list("order")? {
        order.push(names.headers.header(&header)?);
    }
    let lengths = order.iter().filter_map(|&header| {
        let header = names.headers.headers.get(header as usize)?;
        let varbit = header.varbit.and_then(|varbit| header.fields.get(varbit)).map(|field| field.word);
        Some(HeaderLength { base: header.base, bits: header.bits, varbit })
    });
    let lengths = lengths.collect();
    let scope = typed::Scope { names, params: &[] };
    Ok(Deparser { order, lengths, ops: action::primitives(&deparser.list("primitives")?, &scope)? })
}

type Lists = (Vec<Option<LearnList>>, Vec<Option<FieldList>>);

fn lists(root: &At<'_>, names: &Names) -> Result<Lists> {
    let (mut learn_lists, mut field_lists) = (Vec::new(), Vec::new());
    for list in root.list("learn_lists")? {
        let mut fields = Vec::new();
        for element in list.list("elements")? {
            fields.push(names.headers.field(&element.get("value")?)?.1);
        }
        put(&mut learn_lists, &list, LearnList { name: list.string("name")?.into(), fields })?;
    }
    for list in root.list("field_lists")? {
        let mut fields = Vec::new();
        for element in list.list("elements")? {
            // Constants in such a list are for hashes only.
            if element.string("type")? == "field" {
                fields.push(names.headers.field(&element.get("value")?)?.1);
            }
        }
        put(&mut field_lists, &list, FieldList { fields })?;
    }
    Ok((learn_lists, field_lists))
}

fn put<T>(lists: &mut Vec<Option<T>>, at: &At<'_>, list: T) -> Result<()> {
    let id = at.get("id")?.number(MAX_LIST_ID)? as usize;
    if lists.len() <= id {
        lists.resize_with(id + 1, || None);
    }
    match lists.get_mut(id) {
        Some(slot @ None) => *slot = Some(list),
        _ => return Err(at.error(format!("id {id} is used twice"))),
    }
    Ok(())
}

/// Metadata that the machine uses, by the target's names, which the program may map to others.
fn intrinsics(root: &At<'_>, names: &Names) -> Result<Intrinsics> {
    let mut aliases = HashMap::new();
    for alias in root.list("field_aliases")? {
        aliases.insert(alias.at(0)?.str()?, names.headers.field(&alias.at(1)?)?.1);
    }
    let find = |header: &str, field: &str| {
        let alias = aliases.get(format!("{header}.{field}").as_str()).copied();
        alias.or_else(|| names.headers.find(header, field)).filter(|field| field.bits <= 64 && !field.varbit)
    };
    let standard = |field| find("standard_metadata", field);
    let intrinsic = |field| find("intrinsic_metadata", field);
    let queueing = |field| find("queueing_metadata", field);
    Ok(Intrinsics {
        ingress_port: standard("ingress_port"),
        egress_spec: standard("egress_spec"),
        egress_port: standard("egress_port"),
        instance_type: standard("instance_type"),
        packet_length: standard("packet_length"),
        parser_error: standard("parser_error"),
        checksum_error: standard("checksum_error"),
        ingress_timestamp: intrinsic("ingress_global_timestamp"),
        egress_timestamp: intrinsic("egress_global_timestamp"),
        mcast_grp: intrinsic("mcast_grp"),
        egress_rid: intrinsic("egress_rid"),
        priority: intrinsic("priority"),
        enq_timestamp: queueing("enq_timestamp"),
        enq_qdepth: queueing("enq_qdepth"),
        deq_timedelta: queueing("deq_timedelta"),
        deq_qdepth: queueing("deq_qdepth"),
        qid: queueing("qid"),
    })
}
