//! Writes down each step.

use super::show;
use super::{Observer, Trace};
use crate::action;
use crate::ir::{Next, Primitive, Table};
use crate::machine::Machine;
use crate::phv;
use crate::value::words_for;

pub(crate) struct Recorder<'a> {
    trace: &'a mut Trace,
}

impl<'a> Recorder<'a> {
    pub(crate) fn new(trace: &'a mut Trace) -> Self {
        Self { trace }
    }

    /// A recorder for packet `number`, when there is a trace and the packet is in it.
    pub(crate) fn of(trace: &'a mut Option<Box<Trace>>, number: u64) -> Option<Self> {
        trace.as_deref_mut().filter(|_| number > 0).map(|trace| {
            trace.turn_to(number);
            Self::new(trace)
        })
    }

    /// Remember the header vector, to tell later what has changed in it.
    fn look(&mut self, m: &Machine<'_>) {
        m.phv.clone_into(&mut self.trace.told);
    }

    /// Tell what has changed in the header vector since.
    fn tell_changes(&mut self, m: &Machine<'_>) {
        if self.trace.told != m.phv {
            for change in show::changes(m.program, &self.trace.told, m.phv) {
                self.trace.say(format_args!("    {change}"));
            }
            self.look(m);
        }
    }

    /// The headers that the deparser has written.
    pub(crate) fn deparsed(&mut self, m: &Machine<'_>) {
        let headers = m.program.deparser.order.iter().filter_map(|&header| m.program.headers.get(header as usize));
        for header in headers.filter(|header| phv::get(m.phv, header.base) != 0) {
            self.trace.say(format_args!("Deparsing header '{}'", header.name));
        }
    }

    /// What a primitive does that the header vector does not show.
    fn tell_effect(&mut self, m: &Machine<'_>, primitive: &Primitive, args: &[u64]) {
        let env = m.env(args);
        let text = match primitive {
            Primitive::RegisterWrite { register, index, value } => {
                let Some(def) = m.program.registers.get(*register as usize) else { return };
                let mut words = vec![0; words_for(def.bits) as usize];
                value.eval_words(env, def.bits, &mut words);
                format!("register {}[{}] = {}", def.name, index.eval_u64(env), show::number(&words))
            }
            Primitive::RegisterRead { register, index, .. } => {
                let Some(def) = m.program.registers.get(*register as usize) else { return };
                format!("register {}[{}] is read", def.name, index.eval_u64(env))
            }
            Primitive::Count { counter, index } => {
                let Some(def) = m.program.counters.get(*counter as usize) else { return };
                format!("counter {}[{}] counts", def.name, index.eval_u64(env))
            }
            Primitive::ExecuteMeter { meter, index, .. } => {
                let Some(def) = m.program.meters.get(*meter as usize) else { return };
                format!("meter {}[{}] is executed", def.name, index.eval_u64(env))
            }
            Primitive::Digest(list) => format!("digest {}", list.eval_u64(env)),
            Primitive::CloneIngress { session, .. } | Primitive::CloneEgress { session, .. } => {
                format!("clone to session {}", session.eval_u64(env))
            }
            Primitive::Resubmit(_) => "resubmit".to_owned(),
            Primitive::Recirculate(_) => "recirculate".to_owned(),
            Primitive::Truncate(length) => format!("truncate to {} bytes", length.eval_u64(env)),
            Primitive::MarkToDrop { .. } => "mark to drop".to_owned(),
            Primitive::Assert(condition) if !condition.eval(env) => "assertion failed".to_owned(),
            Primitive::Exit => "exit".to_owned(),
            _ => return,
        };
        self.trace.say(format_args!("    {text}"));
    }
}

impl Observer for Recorder<'_> {
    fn state(&mut self, m: &Machine<'_>, state: Next) {
        self.look(m);
        let name = m.program.sources.states.get(state as usize).map_or("?", |name| name);
        self.trace.say(format_args!("Parser entering state '{name}'"));
    }

    fn extracted(&mut self, m: &Machine<'_>) {
        self.tell_changes(m);
    }

    fn parsed(&mut self, m: &Machine<'_>, error: u32) {
        if error != m.program.errors.no_error {
            let name = m.program.sources.errors.get(&error).map_or("?", |name| name);
            self.trace.say(format_args!("Parser error {error} ({name})"));
        }
    }

    fn pipeline(&mut self, m: &Machine<'_>, name: &str) {
        self.look(m);
        self.trace.say(format_args!("Pipeline '{name}': start"));
    }

    fn condition(&mut self, m: &Machine<'_>, node: Next, result: bool) {
        let source = m.program.sources.nodes.get(node as usize).map_or("?", |source| source);
        self.trace.say(format_args!("Condition \"{source}\" is {result}"));
    }

    fn table(&mut self, _: &Machine<'_>, table: &Table, key: &[u64], hit: Option<u32>) {
        self.trace.say(format_args!("Applying table '{}'", table.name));
        for (at, field) in table.key.iter().enumerate() {
            let value = show::number(&table.layout.get(at, key));
            self.trace.say(format_args!("    {} ({}): {value}", field.name, field.kind.as_str()));
        }
        match hit {
            Some(place) => self.trace.say(format_args!("Table '{}': hit with handle {place}", table.name)),
            None => self.trace.say(format_args!("Table '{}': miss", table.name)),
        }
    }

    fn act(&mut self, m: &mut Machine<'_>, action: u32, args: &[u64]) {
        let program = m.program;
        let Some(call) = program.unpack(action, args) else { return };
        let params: Vec<String> = call.params.iter().map(|param| show::bytes(param)).collect();
        self.trace.say(format_args!("Action {}({})", call.action, params.join(", ")));
        let (actions, sources) = (&program.actions, &program.sources.actions);
        let (Some(action), Some(sources)) = (actions.get(action as usize), sources.get(action as usize)) else {
            return;
        };
        self.look(m);
        let mut at = 0;
        while let Some(primitive) = action.body.get(at) {
            let source = sources.get(at).map_or("", |source| source);
            at += 1;
            match primitive {
                Primitive::Jump(to) => at = *to as usize,
                Primitive::JumpIfZero { condition, to } => {
                    if condition.eval_u64(m.env(args)) == 0 {
                        at = *to as usize;
                    }
                }
                _ => {
                    if !source.is_empty() {
                        self.trace.say(format_args!("  {source}"));
                    }
                    self.tell_effect(m, primitive, args);
                    action::run(m, std::slice::from_ref(primitive), args);
                    self.tell_changes(m);
                }
            }
            if m.state.failed {
                return;
            }
        }
    }
}
