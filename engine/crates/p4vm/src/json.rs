//! Reading JSON with a place for every error.

use std::fmt;
use std::rc::Rc;

use serde_json::Number;

use crate::document::Json;
use crate::LoadError;

pub(crate) type Result<T> = std::result::Result<T, LoadError>;

/// p4c writes programs of at most a few megabytes.
const MAX_TEXT: usize = 256 << 20;

/// Nesting of arrays and objects, which bounds recursion here and when an expression is computed. The deepest of p4c's
/// test programs has 87 levels.
const MAX_DEPTH: usize = 256;

/// Parse a document, refusing what would exhaust memory or the stack.
pub(crate) fn parse(text: &str) -> Result<Json<'_>> {
    if text.len() > MAX_TEXT {
        return Err(LoadError::new("", format!("the text is longer than {MAX_TEXT} bytes")));
    }
    Json::read(text, MAX_DEPTH).map_err(|e| LoadError::new("", format!("not JSON: {e}")))
}

/// A value and its place in the document.
#[derive(Debug, Clone)]
pub(crate) struct At<'a> {
    pub value: &'a Json<'a>,
    place: Option<Rc<Step<'a>>>,
}

/// From a value to one within it. Only errors need to say it.
#[derive(Debug)]
struct Step<'a> {
    from: Option<Rc<Step<'a>>>,
    to: Part<'a>,
}

#[derive(Debug)]
enum Part<'a> {
    Member(&'a str),
    Element(usize),
}

impl fmt::Display for Step<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.from.as_ref().map_or(Ok(()), |from| from.fmt(f))?;
        match self.to {
            Part::Member(key) if self.from.is_none() => f.write_str(key),
            Part::Member(key) => write!(f, ".{key}"),
            Part::Element(index) => write!(f, "[{index}]"),
        }
    }
}

impl<'a> At<'a> {
    pub(crate) fn root(value: &'a Json<'a>) -> Self {
        Self { value, place: None }
    }

    pub(crate) fn error(&self, message: impl Into<String>) -> LoadError {
        LoadError::new(self.place.as_ref().map_or_else(String::new, |place| place.to_string()), message)
    }

    fn within(&self, value: &'a Json<'a>, to: Part<'a>) -> At<'a> {
        At { value, place: Some(Rc::new(Step { from: self.place.clone(), to })) }
    }

    /// The member `key`, or None when it is missing or null.
    pub(crate) fn opt(&self, key: &'a str) -> Option<At<'a>> {
        let value = self.value.member(key).filter(|value| !matches!(value, Json::Null))?;
        Some(self.within(value, Part::Member(key)))
    }

    pub(crate) fn get(&self, key: &'a str) -> Result<At<'a>> {
        if !self.value.is_object() {
            return Err(self.error("not an object"));
        }
        self.opt(key).ok_or_else(|| self.within(self.value, Part::Member(key)).error("missing"))
    }

    pub(crate) fn at(&self, index: usize) -> Result<At<'a>> {
        let value = self.value.element(index).ok_or_else(|| self.error(format!("has no element {index}")))?;
        Ok(self.within(value, Part::Element(index)))
    }

    pub(crate) fn items(&self) -> Result<impl Iterator<Item = At<'a>> + use<'a>> {
        let items = self.value.as_array().ok_or_else(|| self.error("not an array"))?;
        let list = self.clone();
        Ok(items.iter().enumerate().map(move |(index, value)| list.within(value, Part::Element(index))))
    }

    /// The elements of member `key`; none when it is missing or null.
    pub(crate) fn list(&self, key: &'a str) -> Result<Vec<At<'a>>> {
        match self.opt(key) {
            Some(list) => Ok(list.items()?.collect()),
            None => Ok(Vec::new()),
        }
    }

    pub(crate) fn str(&self) -> Result<&'a str> {
        self.value.as_str().ok_or_else(|| self.error("not a string"))
    }

    pub(crate) fn string(&self, key: &'a str) -> Result<&'a str> {
        self.get(key)?.str()
    }

    /// A whole number in `0..=max`.
    pub(crate) fn number(&self, max: u64) -> Result<u64> {
        let number = self.value.as_number().and_then(Number::as_u64).ok_or_else(|| self.error("not a whole number"))?;
        if number > max {
            return Err(self.error(format!("{number} is more than {max}")));
        }
        Ok(number)
    }

    pub(crate) fn u32(&self, key: &'a str, max: u32) -> Result<u32> {
        Ok(self.get(key)?.number(u64::from(max))? as u32)
    }

    pub(crate) fn id(&self) -> Result<i64> {
        self.value.as_number().and_then(Number::as_i64).ok_or_else(|| self.error("not an id"))
    }

    pub(crate) fn bool_or(&self, key: &'a str, default: bool) -> Result<bool> {
        match self.opt(key) {
            Some(value) => value.value.as_bool().ok_or_else(|| value.error("not true or false")),
            None => Ok(default),
        }
    }

    /// A hexadecimal string as bytes (big endian) and whether it is negative.
    pub(crate) fn hex(&self) -> Result<(Vec<u8>, bool)> {
        let text = self.str()?;
        let (text, negative) = match text.strip_prefix('-') {
            Some(rest) => (rest, true),
            None => (text, false),
        };
        let digits = text.strip_prefix("0x").unwrap_or(text);
        if digits.is_empty() || digits.len() > 2 * 512 {
            return Err(self.error("not a hexadecimal number of at most 512 bytes"));
        }
        let nibbles: Option<Vec<u8>> = digits.chars().map(|c| c.to_digit(16).map(|digit| digit as u8)).collect();
        let nibbles = nibbles.ok_or_else(|| self.error(format!("{text:?} is not hexadecimal")))?;
        let mut bytes = Vec::with_capacity(nibbles.len().div_ceil(2));
        let (first, pairs) = nibbles.split_at(nibbles.len() % 2);
        bytes.extend_from_slice(first);
        bytes.extend(pairs.chunks_exact(2).map(|pair| pair.iter().fold(0, |byte, nibble| byte << 4 | nibble)));
        Ok((bytes, negative))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_name_the_place() {
        let value = parse(r#"{"a": [{"b": 1}, {"b": "x"}]}"#).unwrap();
        let root = At::root(&value);
        let items: Vec<_> = root.get("a").unwrap().items().unwrap().collect();
        assert_eq!(items[1].get("b").unwrap().number(9).unwrap_err().to_string(), "a[1].b: not a whole number");
        assert_eq!(items[0].get("c").unwrap_err().to_string(), "a[0].c: missing");
        assert_eq!(root.get("z").unwrap_err().path, "z");
    }

    #[test]
    fn deep_nesting_is_refused_but_not_within_strings() {
        let deep = "[".repeat(100_000);
        assert!(parse(&deep).unwrap_err().message.contains("nested"));
        assert!(parse(&format!("\"\\\"{deep}\"")).is_ok());
        let fine = format!("{}{}", "[".repeat(256), "]".repeat(256));
        assert!(parse(&fine).is_ok());
    }

    #[test]
    fn hexadecimal_strings() {
        let hex = |text: &str| At::root(&Json::String(text.into())).hex();
        assert_eq!(hex("0x123").unwrap(), (vec![0x01, 0x23], false));
        assert_eq!(hex("-0xff").unwrap(), (vec![0xff], true));
        assert_eq!(hex("0b").unwrap(), (vec![0x0b], false));
        assert!(hex("0x").is_err());
        assert!(hex("0xgg").is_err());
    }
}
