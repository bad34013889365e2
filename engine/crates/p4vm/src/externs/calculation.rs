//! What a checksum or hash is computed over: fields laid out as in a packet.

use crate::ir::{Calculation, CalculationInput, Field, Header, Program};
use crate::phv;
use crate::value::bits::BitWriter;
use crate::value::words_for;

/// Append a field as it would lie in a packet.
#[inline]
pub(crate) fn put_field(writer: &mut BitWriter<'_>, field: &Field, phv: &[u64]) {
    if !field.varbit {
        writer.put_words(phv.get(phv::value_words(field)).unwrap_or_default(), field.bits);
        return;
    }
    let mut left = phv::get(phv, field.word) as u32;
    for &chunk in phv.get(phv::value_words(field)).unwrap_or_default() {
        let take = left.min(64);
        writer.put(chunk, take);
        left -= take;
    }
}

/// Append a header as it would lie in a packet.
#[inline]
pub(crate) fn put_header(writer: &mut BitWriter<'_>, header: &Header, phv: &[u64]) {
    for field in &header.fields {
        put_field(writer, field, phv);
    }
}

/// The calculation's result over the fields of valid headers and, where it asks for it, the payload.
pub(crate) fn compute(
    program: &Program,
    calculation: &Calculation,
    phv: &[u64],
    payload: &[u8],
    scratch: &mut Vec<u8>,
) -> u64 {
    scratch.clear();
    let mut writer = BitWriter::new(scratch);
    for input in &calculation.input {
        match input {
            CalculationInput::Field { header, field } if phv::header_valid(program, phv, *header) => {
                put_field(&mut writer, field, phv);
            }
            CalculationInput::Header(header) if phv::header_valid(program, phv, *header) => {
                if let Some(header) = program.headers.get(*header as usize) {
                    put_header(&mut writer, header, phv);
                }
            }
            CalculationInput::Constant { words, bits } => {
                writer.put_words(words.get(..words_for(*bits) as usize).unwrap_or_default(), *bits);
            }
            _ => {}
        }
    }
    writer.finish();
    if calculation.payload {
        scratch.extend_from_slice(payload);
    }
    calculation.algorithm.compute(scratch)
}
