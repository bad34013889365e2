//! Values and headers as text.

use crate::ir::{Field, Header, Program};
use crate::phv;

/// A value of words, least significant first: small ones decimal too.
pub(crate) fn number(words: &[u64]) -> String {
    let used = words.iter().rposition(|&word| word != 0).map_or(0, |last| last + 1);
    match words.get(..used) {
        None | Some([]) => "0".to_owned(),
        Some([small]) if *small < 10 => small.to_string(),
        Some([word]) => format!("{word:#x}"),
        Some([rest @ .., first]) => {
            rest.iter().rev().fold(format!("{first:#x}"), |text, word| format!("{text}{word:016x}"))
        }
    }
}

/// A value of bytes, most significant first.
pub(crate) fn bytes(value: &[u8]) -> String {
    let digits: String = value.iter().map(|byte| format!("{byte:02x}")).collect();
    match digits.trim_start_matches('0') {
        "" => "0".to_owned(),
        digit if digit.len() == 1 && digit < "a" => digit.to_owned(),
        digits => format!("0x{digits}"),
    }
}

fn field(phv: &[u64], field: &Field) -> String {
    let value = number(phv.get(phv::value_words(field)).unwrap_or_default());
    match field.varbit {
        true => format!("{value} ({} bits)", phv::get(phv, field.word)),
        false => value,
    }
}

fn words<'a>(phv: &'a [u64], header: &Header) -> &'a [u64] {
    phv.get(phv::header_words(header)).unwrap_or_default()
}

/// What differs between two header vectors: headers that have come or gone, and fields of others.
pub(crate) fn changes(program: &Program, before: &[u64], after: &[u64]) -> Vec<String> {
    let mut changes = Vec::new();
    for header in program.headers.iter().filter(|header| words(before, header) != words(after, header)) {
        let named = || header.field_names.iter().zip(&header.fields);
        match (phv::get(before, header.base), phv::get(after, header.base)) {
            (0, 0) => (),
            (0, _) => {
                let fields: Vec<String> = named().map(|(name, at)| format!("{name} {}", field(after, at))).collect();
                changes.push(format!("header '{}' is valid: {}", header.name, fields.join(", ")));
            }
            (_, 0) => changes.push(format!("header '{}' is not valid any more", header.name)),
            _ => {
                let differ = |at: &Field| before.get(phv::field_words(at)) != after.get(phv::field_words(at));
                let fields = named().filter(|(_, at)| differ(at));
                let show =
                    |(name, at)| format!("{}.{name} = {} (was {})", header.name, field(after, at), field(before, at));
                changes.extend(fields.map(show));
            }
        }
    }
    changes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_whole() {
        assert_eq!(number(&[]), "0");
        assert_eq!(number(&[9, 0]), "9");
        assert_eq!(number(&[0x2a]), "0x2a");
        assert_eq!(number(&[1, 0xff]), "0xff0000000000000001");
        assert_eq!(bytes(&[0, 0]), "0");
        assert_eq!(bytes(&[0, 7]), "7");
        assert_eq!(bytes(&[0, 0x0a, 1]), "0xa01");
    }
}
