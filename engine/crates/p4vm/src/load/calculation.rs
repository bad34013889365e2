//! Calculations (hashes) and the checksums made of them.

use super::expr;
use super::headers::MAX_FIELD_BITS;
use super::typed::Scope;
use super::Names;
use crate::hash::Algorithm;
use crate::ir::{Calculation, CalculationInput, Checksum};
use crate::json::{At, Result};
use crate::value::bytes;

pub(crate) fn load(root: &At<'_>, names: &mut Names) -> Result<Vec<Calculation>> {
    let mut calculations = Vec::new();
    for at in root.list("calculations")? {
        let calculation = calculation(&at, names)?;
        names.calculations.insert(at.string("name")?.to_owned(), calculations.len() as u32);
        calculations.push(calculation);
    }
    Ok(calculations)
}

/// An algorithm with its input; also the form of an action selector.
pub(crate) fn calculation(at: &At<'_>, names: &Names) -> Result<Calculation> {
    let algo = at.get("algo")?;
    let algorithm = Algorithm::named(algo.str()?);
    let algorithm = algorithm.ok_or_else(|| algo.error(format!("unknown algorithm {}", algo.value)))?;
    let (mut input, mut payload) = (Vec::new(), false);
    for part in at.list("input")? {
        match part.string("type")? {
            "field" => {
                let (header, field) = names.headers.field(&part.get("value")?)?;
                input.push(CalculationInput::Field { header, field });
            }
            "hexstr" => {
                let bits = part.u32("bitwidth", MAX_FIELD_BITS)?;
                let (value, _) = part.get("value")?.hex()?;
                let words = bytes::to_words(&value, bits);
                let words = words.ok_or_else(|| part.error(format!("the value does not fit {bits} bits")))?;
                input.push(CalculationInput::Constant { words: words.into(), bits });
            }
            "header" => input.push(CalculationInput::Header(names.headers.header(&part.get("value")?)?)),
            "payload" => payload = true,
            other => return Err(part.error(format!("a calculation has no input of type {other}"))),
        }
    }
    Ok(Calculation { input, payload, algorithm })
}

pub(crate) fn checksums(root: &At<'_>, names: &Names, calculations: &[Calculation]) -> Result<Vec<Checksum>> {
    let mut checksums = Vec::new();
    for at in root.list("checksums")? {
        let kind = at.get("type")?;
        if kind.str()? != "generic" {
            return Err(kind.error("only checksums of type generic are supported"));
        }
        let (header, target) = names.headers.field(&at.get("target")?)?;
        if target.bits > 64 || target.varbit {
            return Err(at.error("the target of a checksum has at most 64 bits"));
        }
        let calculation = at.get("calculation")?;
        let index = names.calculations.get(calculation.str()?).copied();
        let index = index.filter(|&index| (index as usize) < calculations.len());
        let index = index.ok_or_else(|| calculation.error("no such calculation"))?;
        let scope = Scope { names, params: &[] };
        let condition = at.opt("if_cond").map(|condition| expr::condition(&condition, &scope)).transpose()?;
        checksums.push(Checksum {
            header,
            target,
            calculation: index,
            condition,
            update: at.bool_or("update", true)?,
            verify: at.bool_or("verify", true)?,
        });
    }
    Ok(checksums)
}
