//! Time series as JSON lines, the same octets on every machine.

use std::fmt::Write;

use crate::time::{Nanos, SECOND};

#[derive(Debug, Default)]
pub struct Series {
    text: String,
}

impl Series {
    /// A row of this kind at `time`; it ends when the writer is dropped.
    pub fn row(&mut self, time: Nanos, kind: &str) -> Row<'_> {
        let (seconds, rest) = (time / SECOND, time % SECOND);
        let _ = write!(self.text, "{{\"time_s\":{seconds}.{rest:09},\"kind\":\"{kind}\"");
        Row { text: &mut self.text }
    }

    pub fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.text).into_bytes()
    }
}

/// One row; writing to a `String` does not fail.
pub struct Row<'a> {
    text: &'a mut String,
}

impl Row<'_> {
    pub fn text(&mut self, name: &str, value: &str) {
        let _ = write!(self.text, ",\"{name}\":\"");
        for character in value.chars() {
            match character {
                '"' | '\\' => {
                    self.text.push('\\');
                    self.text.push(character);
                }
                control if control < ' ' => {
                    let _ = write!(self.text, "\\u{:04x}", control as u32);
                }
                other => self.text.push(other),
            }
        }
        self.text.push('"');
    }

    /// Rust writes the shortest digits that read back as the same number; JSON has no infinity and no NaN.
    pub fn number(&mut self, name: &str, value: f64) {
        let _ = match value.is_finite() {
            true => write!(self.text, ",\"{name}\":{value}"),
            false => write!(self.text, ",\"{name}\":null"),
        };
    }
}

impl Drop for Row<'_> {
    fn drop(&mut self) {
        self.text.push_str("}\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_json() {
        let mut series = Series::default();
        let mut row = series.row(1_500_000_001, "link");
        row.text("from", "a\"\\\n");
        row.number("rate", 0.1);
        row.number("most", f64::INFINITY);
        drop(row);
        let expected =
            "{\"time_s\":1.500000001,\"kind\":\"link\",\"from\":\"a\\\"\\\\\\u000a\",\"rate\":0.1,\"most\":null}\n";
        assert_eq!(String::from_utf8(series.take()).as_deref(), Ok(expected));
        assert!(series.take().is_empty());
    }
}
