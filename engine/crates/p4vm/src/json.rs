//! Reading JSON with a place for every error.

use serde_json::Value;

use crate::LoadError;

pub(crate) type Result<T> = std::result::Result<T, LoadError>;

/// p4c writes programs of at most a few megabytes.
const MAX_TEXT: usize = 256 << 20;

/// Nesting of arrays and objects, which bounds recursion here and when an expression is computed. The deepest of p4c's
/// test programs has 87 levels.
const MAX_DEPTH: usize = 256;

/// Parse a document, refusing what would exhaust memory or the stack.
pub(crate) fn parse(text: &str) -> Result<Value> {
    if text.len() > MAX_TEXT {
        return Err(LoadError::new("", format!("the text is longer than {MAX_TEXT} bytes")));
    }
    if depth(text) > MAX_DEPTH {
        return Err(LoadError::new("", format!("arrays and objects are nested more than {MAX_DEPTH} deep")));
    }
    let mut reader = serde_json::Deserializer::from_str(text);
    reader.disable_recursion_limit();
    let value =
        serde::Deserialize::deserialize(&mut reader).map_err(|e| LoadError::new("", format!("not JSON: {e}")))?;
    reader.end().map_err(|e| LoadError::new("", format!("not JSON: {e}")))?;
    Ok(value)
}

fn depth(text: &str) -> usize {
    let (mut depth, mut deepest, mut in_string, mut escaped) = (0usize, 0, false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'[' | b'{' if !in_string => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b']' | b'}' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

/// A value and its place in the document.
#[derive(Debug, Clone)]
pub(crate) struct At<'a> {
    pub value: &'a Value,
    pub path: String,
}

impl<'a> At<'a> {
    pub(crate) fn root(value: &'a Value) -> Self {
        Self { value, path: String::new() }
    }

    pub(crate) fn error(&self, message: impl Into<String>) -> LoadError {
        LoadError::new(self.path.clone(), message)
    }

    fn child(&self, key: &str) -> String {
        if self.path.is_empty() {
            key.to_owned()
        } else {
            format!("{}.{key}", self.path)
        }
    }

    /// The member `key`, or None when it is missing or null.
    pub(crate) fn opt(&self, key: &str) -> Option<At<'a>> {
        let value = self.value.get(key).filter(|value| !value.is_null())?;
        Some(At { value, path: self.child(key) })
    }

    pub(crate) fn get(&self, key: &str) -> Result<At<'a>> {
        if !self.value.is_object() {
            return Err(self.error("not an object"));
        }
        self.opt(key).ok_or_else(|| LoadError::new(self.child(key), "missing"))
    }

    pub(crate) fn at(&self, index: usize) -> Result<At<'a>> {
        let value = self.value.get(index).ok_or_else(|| self.error(format!("has no element {index}")))?;
        Ok(At { value, path: format!("{}[{index}]", self.path) })
    }

    pub(crate) fn items(&self) -> Result<impl Iterator<Item = At<'a>> + use<'a>> {
        let items = self.value.as_array().ok_or_else(|| self.error("not an array"))?;
        let path = self.path.clone();
        Ok(items.iter().enumerate().map(move |(i, value)| At { value, path: format!("{path}[{i}]") }))
    }

    /// The elements of member `key`; none when it is missing or null.
    pub(crate) fn list(&self, key: &str) -> Result<Vec<At<'a>>> {
        match self.opt(key) {
            Some(list) => Ok(list.items()?.collect()),
            None => Ok(Vec::new()),
        }
    }

    pub(crate) fn str(&self) -> Result<&'a str> {
        self.value.as_str().ok_or_else(|| self.error("not a string"))
    }

    pub(crate) fn string(&self, key: &str) -> Result<&'a str> {
        self.get(key)?.str()
    }

    /// A whole number in `0..=max`.
    pub(crate) fn number(&self, max: u64) -> Result<u64> {
        let number = self.value.as_u64().ok_or_else(|| self.error("not a whole number"))?;
        if number > max {
            return Err(self.error(format!("{number} is more than {max}")));
        }
        Ok(number)
    }

    pub(crate) fn u32(&self, key: &str, max: u32) -> Result<u32> {
        Ok(self.get(key)?.number(u64::from(max))? as u32)
    }

    pub(crate) fn id(&self) -> Result<i64> {
        self.value.as_i64().ok_or_else(|| self.error("not an id"))
    }

    pub(crate) fn bool_or(&self, key: &str, default: bool) -> Result<bool> {
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
        let hex = |text: &str| At::root(&Value::String(text.into())).hex();
        assert_eq!(hex("0x123").unwrap(), (vec![0x01, 0x23], false));
        assert_eq!(hex("-0xff").unwrap(), (vec![0xff], true));
        assert_eq!(hex("0b").unwrap(), (vec![0x0b], false));
        assert!(hex("0x").is_err());
        assert!(hex("0xgg").is_err());
    }
}
