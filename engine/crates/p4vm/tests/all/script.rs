//! Runs p4c's STF (simple test framework) scripts: packets in, packets expected, table entries between them.

use std::collections::{BTreeMap, BTreeSet};

use p4vm::{
    ActionCall, ActionInfo, CloneSession, EntryTarget, MatchKey, MatchKind, Outputs, Program, Replica, Switch,
    TableInfo,
};

type Result<T> = std::result::Result<T, String>;

/// Run `script` on the program; the error says what is different from what the script expects.
pub fn run(json: &str, script: &str) -> Result<()> {
    let program = Program::from_json(json).map_err(|e| format!("load: {e}"))?;
    let mut runner = Runner::new(Switch::new(program, crate::options()));
    for (number, line) in script.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default().trim();
        runner.line(line).map_err(|e| format!("line {}: {e}", number + 1))?;
    }
    runner.finish()
}

struct Runner {
    switch: Switch,
    now_ns: u64,
    sent: BTreeMap<u16, Vec<Vec<u8>>>,
    expected: BTreeMap<u16, Vec<String>>,
    any: BTreeSet<u16>,
    ports: BTreeSet<u16>,
    nodes: Vec<Vec<Replica>>,
    groups: BTreeMap<u16, Vec<Replica>>,
    /// Keys of entries that were given a name, for `check_counter`.
    handles: BTreeMap<String, (String, Vec<MatchKey>, i32)>,
}

fn word(text: &str) -> (&str, &str) {
    let text = text.trim_start();
    match text.split_once(char::is_whitespace) {
        Some((first, rest)) => (first, rest.trim()),
        None => (text, ""),
    }
}

fn parse<T: std::str::FromStr>(text: &str) -> Result<T> {
    text.parse().map_err(|_| format!("{text:?} is not a number"))
}

/// A number in hexadecimal, binary, octal or decimal as big-endian bytes.
fn bytes_of(text: &str) -> Result<Vec<u8>> {
    let (radix, digits) = match text.get(..2) {
        Some("0x" | "0X") => (16, &text[2..]),
        Some("0b" | "0B") => (2, &text[2..]),
        Some("0o") => (8, &text[2..]),
        _ => (10, text),
    };
    let mut value = num_bigint::BigUint::default();
    for c in digits.chars() {
        value = value * radix + c.to_digit(radix).ok_or_else(|| format!("{text:?} is not a number"))?;
    }
    Ok(value.to_bytes_be())
}

/// Digits with `*` for any: value and mask.
fn ternary(text: &str) -> Result<MatchKey> {
    if let Some((value, mask)) = text.split_once("&&&") {
        return Ok(MatchKey::Pair(bytes_of(value)?, bytes_of(mask)?));
    }
    let (prefix, digits) = text.split_at(text.len().min(2));
    let ones = match prefix {
        "0x" => "f",
        "0b" => "1",
        "0o" => "7",
        _ => return Ok(MatchKey::Value(bytes_of(text)?)),
    };
    let value = format!("{prefix}{}", digits.replace('*', "0"));
    let mask: String = digits.chars().map(|c| if c == '*' { "0" } else { ones }).collect();
    Ok(MatchKey::Pair(bytes_of(&value)?, bytes_of(&format!("{prefix}{mask}"))?))
}

fn match_key(kind: MatchKind, bits: u32, text: &str) -> Result<MatchKey> {
    Ok(match kind {
        MatchKind::Exact | MatchKind::Valid | MatchKind::Optional => MatchKey::Value(bytes_of(text)?),
        MatchKind::Ternary => ternary(text)?,
        MatchKind::Lpm => match text.split_once('/') {
            Some((value, length)) => MatchKey::Prefix(bytes_of(value)?, parse(length)?),
            None => {
                let stars = text.chars().filter(|&c| c == '*').count() as u32;
                let per_digit = if text.starts_with("0b") { 1 } else { 4 };
                MatchKey::Prefix(bytes_of(&text.replace('*', "0"))?, bits - stars * per_digit)
            }
        },
        MatchKind::Range => match text.split_once("->") {
            Some((low, high)) => MatchKey::Pair(bytes_of(low)?, bytes_of(high)?),
            None => MatchKey::Value(bytes_of(text)?),
        },
    })
}

/// The object with this name, or the only one whose name ends so.
fn by_suffix<'a>(names: impl Iterator<Item = &'a str>, wanted: &str) -> Result<&'a str> {
    let names: Vec<&str> = names.collect();
    if let Some(name) = names.iter().find(|name| **name == wanted) {
        return Ok(name);
    }
    let mut ending = names.iter().filter(|name| name.ends_with(wanted));
    match (ending.next(), ending.next()) {
        (Some(name), None) => Ok(name),
        (None, _) => Err(format!("no {wanted}")),
        _ => Err(format!("{wanted} is ambiguous")),
    }
}

impl Runner {
    fn new(switch: Switch) -> Self {
        Self {
            switch,
            now_ns: 0,
            sent: BTreeMap::new(),
            expected: BTreeMap::new(),
            any: BTreeSet::new(),
            ports: BTreeSet::new(),
            nodes: Vec::new(),
            groups: BTreeMap::new(),
            handles: BTreeMap::new(),
        }
    }

    fn line(&mut self, line: &str) -> Result<()> {
        let (command, rest) = word(line);
        self.now_ns += 1_000_000;
        match command {
            "packet" => self.packet(rest),
            "expect" => {
                let (port, data) = word(rest);
                let (port, data): (u16, String) = (parse(port)?, data.split_whitespace().collect());
                self.ports.insert(port);
                if data.is_empty() {
                    self.any.insert(port);
                } else {
                    self.expected.entry(port).or_default().push(data.to_uppercase());
                }
                Ok(())
            }
            "add" => self.add(rest),
            "setdefault" => self.set_default(rest),
            "mc_mgrp_create" => {
                self.groups.insert(parse(rest)?, Vec::new());
                self.switch.mcast_group_add(parse(rest)?, &[]).map_err(|e| e.to_string())
            }
            "mc_node_create" => {
                let (instance, ports) = word(rest);
                let instance = parse(instance)?;
                let node = ports.split_whitespace().map(|port| Ok(Replica { port: parse(port)?, instance }));
                self.nodes.push(node.collect::<Result<_>>()?);
                Ok(())
            }
            "mc_node_associate" => {
                let (group, node) = word(rest);
                let (group, node): (u16, usize) = (parse(group)?, parse(node)?);
                let replicas = self.groups.entry(group).or_default();
                replicas.extend(self.nodes.get(node).ok_or("no such node")?);
                self.switch.mcast_group_modify(group, replicas).map_err(|e| e.to_string())
            }
            "mirroring_add" | "mirroring_add_mc" => {
                let (session, target) = word(rest);
                let replicas = if command == "mirroring_add" {
                    vec![Replica { port: parse(target)?, instance: 0 }]
                } else {
                    self.groups.get(&parse(target)?).cloned().unwrap_or_default()
                };
                let config = CloneSession { replicas, ..CloneSession::default() };
                self.switch.clone_session_set(parse(session)?, &config).map_err(|e| e.to_string())
            }
            "register_write" => {
                let mut words = rest.split_whitespace();
                let (register, index) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
                let value = bytes_of(words.next().unwrap_or_default())?;
                self.switch.register_write(register, parse(index)?, &value).map_err(|e| e.to_string())
            }
            "check_counter" => self.check_counter(rest),
            _ => Ok(()),
        }
    }

    fn packet(&mut self, rest: &str) -> Result<()> {
        let (port, data) = word(rest);
        let port = parse(port)?;
        self.ports.insert(port);
        let digits: String = data.split_whitespace().collect();
        let packet: Option<Vec<u8>> =
            (0..digits.len() / 2).map(|i| u8::from_str_radix(digits.get(i * 2..i * 2 + 2)?, 16).ok()).collect();
        let mut out = Outputs::new();
        self.switch.process(self.now_ns, port, &packet.ok_or("the packet is not hexadecimal")?, &mut out);
        for (port, packet) in out.iter() {
            self.sent.entry(port).or_default().push(packet.to_vec());
        }
        Ok(())
    }

    fn table(&self, name: &str) -> Result<TableInfo> {
        let tables = self.switch.tables();
        let name = by_suffix(tables.iter().map(String::as_str), name)?;
        self.switch.table_info(name).map_err(|e| e.to_string())
    }

    /// `action(name:value, ...)`
    fn action(&self, table: &TableInfo, text: &str) -> Result<ActionCall> {
        let (name, args) = text.split_once('(').ok_or("no action")?;
        let args = args.rsplit_once(')').map_or(args, |(args, _)| args);
        let name = by_suffix(table.actions.iter().map(|action| action.name.as_str()), name.trim())?;
        let info: &ActionInfo = table.actions.iter().find(|action| action.name == name).ok_or("no action")?;
        let mut params = vec![vec![0]; info.params.len()];
        for arg in args.split(',').filter(|arg| !arg.trim().is_empty()) {
            let (name, value) = arg.split_once(':').ok_or("an argument has no value")?;
            let at = info.params.iter().position(|(param, _)| param == name.trim()).ok_or("no such parameter")?;
            params[at] = bytes_of(value.trim())?;
        }
        Ok(ActionCall { action: name.to_owned(), params })
    }

    fn add(&mut self, rest: &str) -> Result<()> {
        let (table, rest) = word(rest);
        let table = self.table(table)?;
        let (first, after) = word(rest);
        let (priority, rest) = match first.parse::<i32>() {
            Ok(priority) => (priority, after),
            Err(_) => (1, rest),
        };
        let open = rest.find('(').ok_or("no action")?;
        let start = rest[..open].rfind(char::is_whitespace).map_or(0, |at| at + 1);
        let (keys, action) = rest.split_at(start);
        let mut key: Vec<MatchKey> = table
            .key
            .iter()
            .map(|field| match field.kind {
                MatchKind::Exact | MatchKind::Valid => MatchKey::Value(vec![0]),
                _ => MatchKey::Any,
            })
            .collect();
        for part in keys.split_whitespace() {
            let (name, value) = part.split_once(':').ok_or("a key has no value")?;
            let at = Self::key_field(&table, name).ok_or_else(|| format!("no key field {name}"))?;
            key[at] = match_key(table.key[at].kind, table.key[at].bits, value)?;
        }
        let call = self.action(&table, action)?;
        if let Some((_, handle)) = action.rsplit_once('=') {
            let place = (table.name.clone(), key.clone(), priority);
            self.handles.insert(handle.trim().to_owned(), place);
        }
        let added = self.switch.table_add(&table.name, &key, priority, &EntryTarget::Action(call), 0);
        match added {
            // BMv2's CLI prints an error and goes on.
            Err(e) if table.is_const => {
                assert_eq!(e.code, p4vm::ErrorCode::InvalidArgument);
                Ok(())
            }
            other => other.map_err(|e| e.to_string()),
        }
    }

    /// p4c's names differ from STF's in `$valid$`, in indices and in what stands before the last dot.
    fn key_field(table: &TableInfo, name: &str) -> Option<usize> {
        let indexed = match name.split_once('$') {
            Some((before, rest)) => {
                let digits = rest.chars().take_while(char::is_ascii_digit).count();
                if digits > 0 {
                    format!("{before}[{}]{}", &rest[..digits], &rest[digits..])
                } else {
                    name.to_owned()
                }
            }
            None => name.to_owned(),
        };
        let tries =
            [indexed.clone(), format!("{indexed}$"), format!("{indexed}.$valid$"), indexed.replace("valid", "$valid$")];
        let names = || table.key.iter().map(|field| field.name.as_str());
        tries
            .iter()
            .find_map(|wanted| names().position(|name| name == wanted))
            .or_else(|| tries.iter().find_map(|wanted| names().position(|name| name.ends_with(&format!(".{wanted}")))))
    }

    fn set_default(&mut self, rest: &str) -> Result<()> {
        let (table, action) = word(rest);
        let table = self.table(table)?;
        let call = self.action(&table, action)?;
        self.switch.table_set_default(&table.name, &call).map_err(|e| e.to_string())
    }

    /// `counter(index) [packets|bytes == number]`
    fn check_counter(&mut self, rest: &str) -> Result<()> {
        let (counter, condition) = word(rest);
        let (name, index) = counter.split_once('(').ok_or("no index")?;
        let index = index.trim_end_matches(')');
        let (packets, octets) = match self.handles.get(index.trim_start_matches('$')) {
            Some((table, key, priority)) => {
                self.switch.direct_counter_read(table, key, *priority).map_err(|e| e.to_string())?
            }
            None => {
                let counters = self.switch.counters();
                let name = by_suffix(counters.iter().map(String::as_str), name)?;
                self.switch.counter_read(name, parse(index)?).map_err(|e| e.to_string())?
            }
        };
        let words: Vec<&str> = condition.split_whitespace().collect();
        let [unit, "==", wanted] = words[..] else { return Ok(()) };
        // These scripts were written for a target that counts Ethernet's frame check sequence.
        let value = if unit == "bytes" { octets + 4 * packets } else { packets };
        let wanted: u64 = parse(wanted)?;
        if value == wanted {
            Ok(())
        } else {
            Err(format!("counter {counter} has {value} {unit}, not {wanted}"))
        }
    }

    /// Compare what was sent with what was expected, on the ports that the script mentions.
    fn finish(self) -> Result<()> {
        for port in self.ports.iter().filter(|port| !self.any.contains(port)) {
            let expected = self.expected.get(port).map(Vec::as_slice).unwrap_or_default();
            let sent = self.sent.get(port).map(Vec::as_slice).unwrap_or_default();
            let sent: Vec<String> = sent.iter().map(|p| p.iter().map(|byte| format!("{byte:02X}")).collect()).collect();
            if expected.len() != sent.len() {
                let (n, m) = (expected.len(), sent.len());
                return Err(format!("port {port}: {n} packets expected, {m} sent\n  {expected:?}\n  {sent:?}"));
            }
            for (expected, sent) in expected.iter().zip(&sent) {
                let exact = expected.ends_with('$');
                let pattern = expected.trim_end_matches('$');
                let same = pattern.len() <= sent.len()
                    && (!exact || pattern.len() == sent.len())
                    && pattern.chars().zip(sent.chars()).all(|(p, s)| p == '*' || p == s);
                if !same {
                    return Err(format!("port {port}:\n  expected {expected}\n  sent     {sent}"));
                }
            }
        }
        Ok(())
    }
}
