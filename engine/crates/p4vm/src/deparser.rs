//! The deparser: checksums are updated, then the valid headers go out in order, then the payload.

use crate::action;
use crate::externs::calculation;
use crate::ir::Program;
use crate::machine::Machine;
use crate::phv;
use crate::value::bits::BitWriter;

/// Append the payload; `out` has the packet's headers from `start`.
pub(crate) fn put_payload(m: &Machine<'_>, start: usize, out: &mut Vec<u8>) {
    out.extend_from_slice(m.payload);
    // As in BMv2, what goes back to ingress is whole: truncation is for a packet that leaves.
    if let Some(length) = m.state.truncate.filter(|_| m.state.recirculate == 0) {
        out.truncate(start + length as usize);
    }
}

/// Update checksums and append the headers to `out`.
#[inline(never)]
pub(crate) fn put_headers(m: &mut Machine<'_>, out: &mut Vec<u8>) {
    let program = m.program;
    phv::mark_all(m.phv, &program.live.groups);
    for checksum in program.checksums.iter().filter(|checksum| checksum.update) {
        if checksum.condition.as_ref().is_some_and(|condition| !condition.eval(m.env(&[]))) {
            continue;
        }
        if let Some(calculation) = program.calculations.get(checksum.calculation as usize) {
            let sum = calculation::compute(program, calculation, m.phv, m.payload, m.scratch);
            phv::set_field(m.phv, Some(checksum.target), sum);
        }
    }
    if !program.deparser.ops.is_empty() {
        action::run(m, &program.deparser.ops, &[]);
    }
    let mut writer = BitWriter::new(out);
    for &header in &program.deparser.order {
        if let Some(header) = program.headers.get(header as usize).filter(|h| phv::get(m.phv, h.base) != 0) {
            calculation::put_header(&mut writer, header, m.phv);
        }
    }
    writer.finish();
}

/// Bytes of the valid headers, in front of the payload.
pub(crate) fn header_bytes(program: &Program, phv: &[u64]) -> usize {
    let valid = program.deparser.lengths.iter().filter(|header| phv::get(phv, header.base) != 0);
    let bits = valid.map(|header| header.bits as usize + header.varbit.map_or(0, |word| phv::get(phv, word) as usize));
    bits.map(|bits| bits / 8).sum()
}
