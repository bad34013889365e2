//! A JSON document that is read once: strings are pieces of its text, an object is a list, which is quickly made.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Number, Value};

#[derive(Debug)]
pub(crate) enum Json<'t> {
    Null,
    Bool(bool),
    Number(Number),
    String(Cow<'t, str>),
    Array(Vec<Json<'t>>),
    Object(Vec<(Cow<'t, str>, Json<'t>)>),
}

impl<'t> Json<'t> {
    /// Arrays and objects may be nested `depth` deep.
    pub(crate) fn read(text: &'t str, depth: usize) -> serde_json::Result<Self> {
        let mut reader = serde_json::Deserializer::from_str(text);
        reader.disable_recursion_limit();
        let value = Reader(depth).deserialize(&mut reader)?;
        reader.end().map(|()| value)
    }

    /// Of several of one name the last one.
    pub(crate) fn member(&self, key: &str) -> Option<&Json<'t>> {
        let Json::Object(members) = self else { return None };
        Some(&members.iter().rev().find(|(name, _)| name == key)?.1)
    }

    pub(crate) fn element(&self, index: usize) -> Option<&Json<'t>> {
        self.as_array()?.get(index)
    }

    pub(crate) fn is_object(&self) -> bool {
        matches!(self, Json::Object(_))
    }

    pub(crate) fn as_array(&self) -> Option<&[Json<'t>]> {
        let Json::Array(items) = self else { return None };
        Some(items)
    }

    pub(crate) fn as_str(&self) -> Option<&str> {
        let Json::String(text) = self else { return None };
        Some(text)
    }

    pub(crate) fn as_bool(&self) -> Option<bool> {
        let Json::Bool(value) = self else { return None };
        Some(*value)
    }

    pub(crate) fn as_number(&self) -> Option<&Number> {
        let Json::Number(number) = self else { return None };
        Some(number)
    }
}

impl fmt::Display for Json<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Json::Number(number) => number.fmt(f),
            Json::String(text) => Value::from(&**text).fmt(f),
            other => write!(f, "{other:?}"),
        }
    }
}

/// How deep may be nested what comes.
struct Reader(usize);

impl Reader {
    fn within<E: Error>(&self) -> Result<Self, E> {
        self.0.checked_sub(1).map(Reader).ok_or_else(|| E::custom("nested too deep"))
    }
}

impl<'t> DeserializeSeed<'t> for Reader {
    type Value = Json<'t>;

    fn deserialize<D: Deserializer<'t>>(self, deserializer: D) -> Result<Json<'t>, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'t> Visitor<'t> for Reader {
    type Value = Json<'t>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any valid JSON value")
    }

    fn visit_unit<E>(self) -> Result<Json<'t>, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Json<'t>, E> {
        Ok(Json::Bool(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Json<'t>, E> {
        Ok(Json::Number(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Json<'t>, E> {
        Ok(Json::Number(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Json<'t>, E> {
        Ok(Number::from_f64(value).map_or(Json::Null, Json::Number))
    }

    fn visit_borrowed_str<E>(self, text: &'t str) -> Result<Json<'t>, E> {
        Ok(Json::String(text.into()))
    }

    fn visit_str<E>(self, text: &str) -> Result<Json<'t>, E> {
        Ok(Json::String(text.to_owned().into()))
    }

    fn visit_seq<A: SeqAccess<'t>>(self, mut sequence: A) -> Result<Json<'t>, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = sequence.next_element_seed(self.within()?)? {
            items.push(item);
        }
        Ok(Json::Array(items))
    }

    fn visit_map<A: MapAccess<'t>>(self, mut map: A) -> Result<Json<'t>, A::Error> {
        let mut members = Vec::new();
        while let Some(key) = map.next_key_seed(self.within()?)? {
            let value = map.next_value_seed(self.within()?)?;
            if let Json::String(name) = key {
                members.push((name, value));
            }
        }
        Ok(Json::Object(members))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_those_of_the_text() {
        let text = r#"{"a": 1, "b": ["a", "\u0062\n", -1e99, null], "\u0061": 3}"#;
        let json = Json::read(text, 2).unwrap();
        assert_eq!(json.member("a").unwrap().to_string(), "3", "the last one");
        let list = json.member("b").unwrap().as_array().unwrap();
        assert!(matches!(list[..], [Json::String(Cow::Borrowed("a")), .., Json::Null]));
        assert_eq!(format!("{} {}", list[1], list[2]), r#""b\n" -1e+99"#);
        assert!(Json::read(text, 1).unwrap_err().to_string().contains("nested"));
    }
}
