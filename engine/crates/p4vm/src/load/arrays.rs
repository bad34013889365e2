//! Register, counter and meter arrays.

use super::headers::MAX_FIELD_BITS;
use super::Names;
use crate::ir::{Counter, Meter, Register};
use crate::json::{At, Result};
use crate::value::words_for;

/// Memory of all arrays of one kind together, so that a program cannot exhaust the machine's.
const MAX_BYTES: usize = 512 << 20;

type Arrays = (Vec<Register>, Vec<Counter>, Vec<Meter>);

pub(crate) fn load(root: &At<'_>, names: &mut Names) -> Result<Arrays> {
    let (mut registers, mut counters, mut meters) = (Vec::new(), Vec::new(), Vec::new());
    let mut bytes = 0;
    for at in root.list("register_arrays")? {
        let (name, bits) = (at.string("name")?.to_owned(), at.u32("bitwidth", MAX_FIELD_BITS)?);
        let size = size(&at, words_for(bits) as usize * 8, &mut bytes)?;
        names.registers.insert(name.clone(), registers.len() as u32);
        names.register_bits.push(bits);
        registers.push(Register { name, size, bits });
    }
    bytes = 0;
    for at in root.list("counter_arrays")? {
        // A direct counter belongs to its table.
        if !at.bool_or("is_direct", false)? {
            let name = at.string("name")?.to_owned();
            let size = size(&at, 16, &mut bytes)?;
            names.counters.insert(name.clone(), counters.len() as u32);
            counters.push(Counter { name, size });
        }
    }
    bytes = 0;
    for at in root.list("meter_arrays")? {
        let name = at.string("name")?.to_owned();
        let direct = at.bool_or("is_direct", false)?;
        let kind = at.get("type")?;
        let counts_bytes = match kind.str()? {
            "bytes" => true,
            "packets" => false,
            other => return Err(kind.error(format!("a meter counts bytes or packets, not {other}"))),
        };
        if direct {
            let target = at.get("result_target")?;
            let (_, field) = names.headers.field(&target)?;
            if field.bits > 64 || field.varbit {
                return Err(target.error("a colour needs a plain field of at most 64 bits"));
            }
            names.meter_targets.insert(name.clone(), field);
        }
        let size = if direct { 0 } else { size(&at, size_of::<crate::externs::meter::Meter>(), &mut bytes)? };
        names.meters.insert(name.clone(), meters.len() as u32);
        meters.push(Meter { name, size, bytes: counts_bytes, direct });
    }
    Ok((registers, counters, meters))
}

fn size(at: &At<'_>, cell: usize, total: &mut usize) -> Result<usize> {
    let field = at.get("size")?;
    let size = field.number(u64::from(u32::MAX))? as usize;
    *total = total.saturating_add(size.saturating_mul(cell));
    if *total > MAX_BYTES {
        return Err(field.error(format!("the arrays need more than {} MB", MAX_BYTES >> 20)));
    }
    Ok(size)
}
