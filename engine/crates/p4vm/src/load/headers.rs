//! Header types, headers, stacks and unions, and their places in the header vector.

use std::collections::HashMap;

use super::expr;
use super::typed::Scope;
use super::Names;
use crate::document::Json;
use crate::ir::{Field, Header, Stack, Union, UnionStack};
use crate::json::{At, Result};
use crate::value::words_for;

/// BMv2's widest field; also what the widest arithmetic is made for.
pub(crate) const MAX_FIELD_BITS: u32 = 2048;

/// Words of the whole header vector (2 MB), against exhaustion of memory by many stacks.
const MAX_WORDS: u32 = 1 << 18;

#[derive(Debug)]
struct HeaderType {
    name: String,
    fields: Vec<(String, Field)>,
    bits: u32,
    varbit: Option<usize>,
    words: u32,
    max_bytes: u32,
}

#[derive(Debug, Default)]
pub(crate) struct Headers {
    pub headers: Vec<Header>,
    pub stacks: Vec<Stack>,
    pub unions: Vec<Union>,
    pub union_stacks: Vec<UnionStack>,
    pub blank: Vec<u64>,
    by_name: HashMap<String, u32>,
    by_id: HashMap<i64, u32>,
    stack_by_name: HashMap<String, u32>,
    union_by_name: HashMap<String, u32>,
    union_by_id: HashMap<i64, u32>,
    union_stack_by_name: HashMap<String, u32>,
    /// Names of the members of a union, by union and by stack of unions.
    members: HashMap<String, Vec<String>>,
    union_stack_type: Vec<String>,
}

impl Headers {
    pub(crate) fn load(root: &At<'_>) -> Result<Self> {
        let types = header_types(root)?;
        let mut headers = Self::default();
        let mut words = 0;
        for at in root.list("headers")? {
            let kind = at.get("header_type")?;
            let kind = types.get(kind.str()?).ok_or_else(|| kind.error("no such header type"))?;
            headers.add(&at, kind, &mut words)?;
        }
        headers.load_stacks(root, &mut words)?;
        headers.load_unions(root, &mut words)?;
        headers.blank = vec![0; words as usize];
        for header in headers.headers.iter().filter(|header| header.metadata) {
            if let Some(word) = headers.blank.get_mut(header.base as usize) {
                *word = 1;
            }
        }
        headers.load_var_lengths(root)?;
        Ok(headers)
    }

    fn add(&mut self, at: &At<'_>, kind: &HeaderType, words: &mut u32) -> Result<()> {
        let name = at.string("name")?.to_owned();
        let metadata = at.bool_or("metadata", false)?;
        if !metadata && !kind.bits.is_multiple_of(8) {
            let message = format!("header type {} has {} bits, which are no whole bytes", kind.name, kind.bits);
            return Err(at.error(message));
        }
        let base = *words;
        *words = words.checked_add(kind.words).filter(|&words| words <= MAX_WORDS).ok_or_else(|| too_large(at))?;
        let place = |(_, field): &(String, Field)| Field { word: base + field.word, ..*field };
        let index = self.headers.len() as u32;
        if self.by_id.insert(at.get("id")?.id()?, index).is_some() {
            return Err(at.error("the id is used twice"));
        }
        if self.by_name.insert(name.clone(), index).is_some() {
            return Err(at.error(format!("there are two headers {name}")));
        }
        self.headers.push(Header {
            name,
            base,
            words: kind.words,
            fields: kind.fields.iter().map(place).collect(),
            field_names: kind.fields.iter().map(|(name, _)| name.clone()).collect(),
            bits: kind.bits,
            varbit: kind.varbit,
            metadata,
            union: None,
            var_length: None,
            max_bytes: kind.max_bytes,
        });
        Ok(())
    }

    fn ids(&self, at: &At<'_>, key: &str) -> Result<Vec<u32>> {
        let found = |id: At<'_>| {
            let index = self.by_id.get(&id.id()?).copied();
            index.ok_or_else(|| id.error("no header has this id"))
        };
        at.list(key)?.into_iter().map(found).collect()
    }

    fn same_layout(&self, at: &At<'_>, headers: &[u32]) -> Result<()> {
        let layout = |h: &u32| self.headers.get(*h as usize).map(|h| (h.words, h.bits, h.fields.len()));
        if headers.iter().zip(headers.iter().skip(1)).any(|(a, b)| layout(a) != layout(b)) {
            return Err(at.error("its headers are of different types"));
        }
        Ok(())
    }

    fn load_stacks(&mut self, root: &At<'_>, words: &mut u32) -> Result<()> {
        for at in root.list("header_stacks")? {
            let headers = self.ids(&at, "header_ids")?;
            self.same_layout(&at, &headers)?;
            let next = take_word(&at, words)?;
            let elements = headers.iter().map(|&header| vec![header]).collect();
            self.stack_by_name.insert(at.string("name")?.to_owned(), self.stacks.len() as u32);
            self.stacks.push(Stack { headers, elements, next });
        }
        Ok(())
    }

    fn load_unions(&mut self, root: &At<'_>, words: &mut u32) -> Result<()> {
        for at in root.list("header_union_types")? {
            let mut members = Vec::new();
            for member in at.list("headers")? {
                members.push(member.at(0)?.str()?.to_owned());
            }
            self.members.insert(at.string("name")?.to_owned(), members);
        }
        for at in root.list("header_unions")? {
            let (headers, index) = (self.ids(&at, "header_ids")?, self.unions.len() as u32);
            for &header in &headers {
                if let Some(header) = self.headers.get_mut(header as usize) {
                    header.union = Some(index);
                }
            }
            self.union_by_id.insert(at.get("id")?.id()?, index);
            self.union_by_name.insert(at.string("name")?.to_owned(), index);
            self.unions.push(Union { headers });
        }
        for at in root.list("header_union_stacks")? {
            let (mut unions, mut elements) = (Vec::new(), Vec::<Vec<u32>>::new());
            for id in at.list("header_union_ids")? {
                let index = self.union_by_id.get(&id.id()?).copied();
                let index = index.ok_or_else(|| id.error("no header union has this id"))?;
                let headers = self.unions.get(index as usize).map(|union| union.headers.clone()).unwrap_or_default();
                if let Some(first) = elements.first() {
                    if first.len() != headers.len() {
                        return Err(at.error("its unions are of different types"));
                    }
                    for (&a, &b) in first.iter().zip(&headers) {
                        self.same_layout(&at, &[a, b])?;
                    }
                }
                unions.push(index);
                elements.push(headers);
            }
            let next = take_word(&at, words)?;
            self.union_stack_by_name.insert(at.string("name")?.to_owned(), self.union_stacks.len() as u32);
            self.union_stack_type.push(at.string("union_type")?.to_owned());
            self.union_stacks.push(UnionStack { unions, elements, next });
        }
        Ok(())
    }

    /// P4_14's length expressions, whose locals are the header's own fields by position.
    fn load_var_lengths(&mut self, root: &At<'_>) -> Result<()> {
        let mut lengths = HashMap::new();
        for at in root.list("header_types")? {
            if let Some(length) = at.opt("length_exp") {
                lengths.insert(at.string("name")?, length);
            }
        }
        if lengths.is_empty() {
            return Ok(());
        }
        let mut found = Vec::new();
        let names = Names { headers: std::mem::take(self), ..Names::default() };
        for (index, at) in root.list("headers")?.into_iter().enumerate() {
            let Some(length) = lengths.get(at.string("header_type")?) else { continue };
            let own = names.headers.headers.get(index).map(|h| h.fields.as_slice()).unwrap_or_default();
            found.push((index, expr::number(length, &Scope { names: &names, params: &[] }, Some(own))?));
        }
        *self = names.headers;
        for (index, length) in found {
            if let Some(header) = self.headers.get_mut(index) {
                header.var_length = Some(length);
            }
        }
        Ok(())
    }

    pub(crate) fn header(&self, at: &At<'_>) -> Result<u32> {
        lookup(&self.by_name, at, "header")
    }

    pub(crate) fn stack(&self, at: &At<'_>) -> Result<u32> {
        lookup(&self.stack_by_name, at, "header stack")
    }

    pub(crate) fn union(&self, at: &At<'_>) -> Result<u32> {
        lookup(&self.union_by_name, at, "header union")
    }

    pub(crate) fn union_stack(&self, at: &At<'_>) -> Result<u32> {
        lookup(&self.union_stack_by_name, at, "stack of header unions")
    }

    /// The index of a named member in the unions of a stack.
    pub(crate) fn union_stack_member(&self, stack: u32, at: &At<'_>) -> Result<u32> {
        let members = self.union_stack_type.get(stack as usize).and_then(|kind| self.members.get(kind));
        let name = at.str()?;
        let index = members.and_then(|members| members.iter().position(|member| member == name));
        index.map(|index| index as u32).ok_or_else(|| at.error(format!("the union has no member {name}")))
    }

    /// A field by name, for the machine itself.
    pub(crate) fn find(&self, header: &str, field: &str) -> Option<Field> {
        let header = self.headers.get(*self.by_name.get(header)? as usize)?;
        let index = header.field_names.iter().position(|name| name == field)?;
        header.fields.get(index).copied()
    }

    /// The field of a pair `[header, field]`, with its header.
    pub(crate) fn field(&self, at: &At<'_>) -> Result<(u32, Field)> {
        let index = self.header(&at.at(0)?)?;
        let field = at.at(1)?;
        let header = self.headers.get(index as usize).ok_or_else(|| at.error("no such header"))?;
        if field.str()? == "$valid$" {
            return Ok((index, Field::plain(header.base, 1)));
        }
        let position = field_position(header, &field)?;
        let found = header.fields.get(position as usize).copied();
        found.map(|found| (index, found)).ok_or_else(|| field.error("no such field"))
    }

    /// The position of a named field in the headers of a stack, and the field in the first of them.
    pub(crate) fn stack_field(&self, stack: u32, at: &At<'_>) -> Result<(u32, Field)> {
        let first = self.stacks.get(stack as usize).and_then(|stack| stack.headers.first());
        self.field_of(first.copied(), at)
    }

    pub(crate) fn union_stack_field(&self, stack: u32, member: u32, at: &At<'_>) -> Result<(u32, Field)> {
        let first = self.union_stacks.get(stack as usize).and_then(|stack| stack.elements.first());
        self.field_of(first.and_then(|headers| headers.get(member as usize)).copied(), at)
    }

    /// The position and place of a named field of a header.
    pub(crate) fn field_of(&self, header: Option<u32>, at: &At<'_>) -> Result<(u32, Field)> {
        let header = header.and_then(|header| self.headers.get(header as usize));
        let header = header.ok_or_else(|| at.error("the stack is empty"))?;
        let position = field_position(header, at)?;
        let field = header.fields.get(position as usize).copied();
        field.map(|field| (position, field)).ok_or_else(|| at.error("no such field"))
    }
}

fn field_position(header: &Header, at: &At<'_>) -> Result<u32> {
    let name = at.str()?;
    let position = header.field_names.iter().position(|field| field == name);
    position.map(|p| p as u32).ok_or_else(|| at.error(format!("header {} has no field {name}", header.name)))
}

fn lookup(names: &HashMap<String, u32>, at: &At<'_>, what: &str) -> Result<u32> {
    let name = at.str()?;
    names.get(name).copied().ok_or_else(|| at.error(format!("no {what} {name}")))
}

fn too_large(at: &At<'_>) -> crate::LoadError {
    at.error(format!("headers and metadata need more than {MAX_WORDS} words"))
}

fn take_word(at: &At<'_>, words: &mut u32) -> Result<u32> {
    let word = *words;
    *words = words.checked_add(1).filter(|&words| words <= MAX_WORDS).ok_or_else(|| too_large(at))?;
    Ok(word)
}

fn header_types(root: &At<'_>) -> Result<HashMap<String, HeaderType>> {
    let mut types = HashMap::new();
    for at in root.list("header_types")? {
        let name = at.string("name")?.to_owned();
        types.insert(name.clone(), header_type(&at, name)?);
    }
    Ok(types)
}

fn header_type(at: &At<'_>, name: String) -> Result<HeaderType> {
    let (mut fields, mut bits, mut varbit, mut words) = (Vec::new(), 0u32, None, 1u32);
    let list = at.list("fields")?;
    for entry in &list {
        if entry.at(1)?.value.as_str() != Some("*") {
            bits += entry.at(1)?.number(u64::from(MAX_FIELD_BITS))? as u32;
        }
        if bits > 1 << 20 {
            return Err(entry.error("the header is wider than 2^20 bits"));
        }
    }
    let max_bytes = match at.opt("max_length") {
        Some(max) => max.number(65_535)? as u32,
        None => 0,
    };
    for entry in &list {
        let flag = |index: usize| entry.value.element(index).and_then(Json::as_bool).unwrap_or(false);
        let var = entry.at(1)?.value.as_str() == Some("*");
        let width = if var {
            if varbit.replace(fields.len()).is_some() {
                return Err(entry.error("a header has at most one varbit field"));
            }
            (max_bytes * 8).saturating_sub(bits)
        } else {
            entry.at(1)?.number(u64::from(MAX_FIELD_BITS))? as u32
        };
        let (signed, saturating) = (flag(2), flag(3));
        let field = Field { signed, saturating, varbit: var, ..Field::plain(words, width) };
        words += words_for(width) + u32::from(var);
        if words > MAX_WORDS {
            return Err(too_large(at));
        }
        fields.push((entry.at(0)?.str()?.to_owned(), field));
    }
    Ok(HeaderType { name, fields, bits, varbit, words, max_bytes })
}
