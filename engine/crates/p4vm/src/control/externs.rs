//! Counters, meters and registers; the direct ones belong to a table's entry.

use super::{find, Result};
use crate::externs::counter::{Counter, CounterArray};
use crate::externs::meter::Meter;
use crate::value::bytes;
use crate::{ControlError, MatchKey, MeterRates, Switch};

fn out_of_range(name: &str, index: usize, size: usize) -> ControlError {
    ControlError::invalid(format!("index {index} is outside {name}, which has {size} cells"))
}

fn check_rates(rates: Option<MeterRates>) -> Result<()> {
    let Some(MeterRates { cir, pir, .. }) = rates else { return Ok(()) };
    let usable = |rate: f64| rate.is_finite() && rate >= 0.0;
    if !usable(cir) || !usable(pir) || pir < cir {
        let message = format!("a meter needs 0 <= cir <= pir, not cir {cir} and pir {pir}");
        return Err(ControlError::invalid(message));
    }
    Ok(())
}

impl Switch {
    /// The first counter or register array of which another switch with the same program does not hold the same.
    pub fn differing_array(&self, other: &Self) -> Option<String> {
        let counters = self.externs.counters.iter().zip(&other.externs.counters).map(|(a, b)| a == b);
        let registers = self.externs.registers.iter().zip(&other.externs.registers).map(|(a, b)| a == b);
        let named = self.counters().into_iter().zip(counters).chain(self.registers().into_iter().zip(registers));
        named.filter(|(_, same)| !same).map(|(name, _)| name).next()
    }

    /// Names of the indirect counters.
    pub fn counters(&self) -> Vec<String> {
        self.program.counters.iter().map(|counter| counter.name.clone()).collect()
    }

    fn counter(&self, name: &str) -> Result<usize> {
        find(&self.program.counters, "counter", name, |counter| &counter.name)
    }

    /// Packets and bytes.
    pub fn counter_read(&self, counter: &str, index: usize) -> Result<(u64, u64)> {
        let array = self.externs.counters.get(self.counter(counter)?);
        let size = array.map_or(0, CounterArray::len);
        let cell = array.and_then(|array| array.get(index)).ok_or_else(|| out_of_range(counter, index, size))?;
        Ok((cell.packets, cell.bytes))
    }

    /// All cells of a counter, packets and bytes each.
    pub fn counter_read_all(&self, counter: &str) -> Result<Vec<(u64, u64)>> {
        let array = self.externs.counters.get(self.counter(counter)?);
        Ok(array.into_iter().flat_map(CounterArray::iter).map(|cell| (cell.packets, cell.bytes)).collect())
    }

    /// Set packets and bytes of a cell.
    pub fn counter_write(&mut self, counter: &str, index: usize, packets: u64, octets: u64) -> Result<()> {
        let at = self.counter(counter)?;
        let array = self.externs.counters.get_mut(at);
        let size = array.as_ref().map_or(0, |array| array.len());
        if array.is_some_and(|array| array.set(index, Counter { packets, bytes: octets })) {
            Ok(())
        } else {
            Err(out_of_range(counter, index, size))
        }
    }

    /// Packets and bytes of an entry's direct counter.
    pub fn direct_counter_read(&self, table: &str, key: &[MatchKey], priority: i32) -> Result<(u64, u64)> {
        let (at, entry) = self.located(table, key, priority)?;
        self.check_direct_counter(table, at)?;
        Ok((entry.counter.packets, entry.counter.bytes))
    }

    /// Set an entry's direct counter.
    pub fn direct_counter_write(
        &mut self,
        table: &str,
        key: &[MatchKey],
        priority: i32,
        packets: u64,
        octets: u64,
    ) -> Result<()> {
        let (at, _) = self.located(table, key, priority)?;
        self.check_direct_counter(table, at)?;
        let (_, entry) = self.located_mut(table, key, priority)?;
        entry.counter = Counter { packets, bytes: octets };
        Ok(())
    }

    fn check_direct_counter(&self, table: &str, at: usize) -> Result<()> {
        if self.program.tables.get(at).is_some_and(|table| table.counters) {
            return Ok(());
        }
        Err(ControlError::invalid(format!("table {table} has no direct counter")))
    }

    /// Names of the meters, direct ones too.
    pub fn meters(&self) -> Vec<String> {
        self.program.meters.iter().map(|meter| meter.name.clone()).collect()
    }

    fn indirect_meter(&self, name: &str) -> Result<usize> {
        let at = find(&self.program.meters, "meter", name, |meter| &meter.name)?;
        if self.program.meters.get(at).is_some_and(|meter| meter.direct) {
            return Err(ControlError::invalid(format!("meter {name} is direct: it belongs to entries of a table")));
        }
        Ok(at)
    }

    /// None: not configured, every packet is green.
    pub fn meter_read(&self, meter: &str, index: usize) -> Result<Option<MeterRates>> {
        let cells = self.externs.meters.get(self.indirect_meter(meter)?).map(Vec::as_slice).unwrap_or_default();
        Ok(cells.get(index).ok_or_else(|| out_of_range(meter, index, cells.len()))?.rates())
    }

    /// Both buckets start full.
    pub fn meter_write(&mut self, meter: &str, index: usize, rates: Option<MeterRates>) -> Result<()> {
        check_rates(rates)?;
        let (at, now_ns) = (self.indirect_meter(meter)?, self.now_ns);
        let cells = self.externs.meters.get_mut(at).map(Vec::as_mut_slice).unwrap_or_default();
        let size = cells.len();
        let cell = cells.get_mut(index).ok_or_else(|| out_of_range(meter, index, size))?;
        cell.configure(rates, now_ns);
        Ok(())
    }

    /// The rates of an entry's direct meter; None: not configured, every packet is green.
    pub fn direct_meter_read(&self, table: &str, key: &[MatchKey], priority: i32) -> Result<Option<MeterRates>> {
        let (at, entry) = self.located(table, key, priority)?;
        self.check_direct_meter(table, at)?;
        Ok(entry.meter.rates())
    }

    /// Configure an entry's direct meter. Both buckets start full.
    pub fn direct_meter_write(
        &mut self,
        table: &str,
        key: &[MatchKey],
        priority: i32,
        rates: Option<MeterRates>,
    ) -> Result<()> {
        check_rates(rates)?;
        let (at, _) = self.located(table, key, priority)?;
        self.check_direct_meter(table, at)?;
        let now_ns = self.now_ns;
        let (_, entry) = self.located_mut(table, key, priority)?;
        let mut meter = Meter::default();
        meter.configure(rates, now_ns);
        entry.meter = meter;
        Ok(())
    }

    fn check_direct_meter(&self, table: &str, at: usize) -> Result<()> {
        if self.program.tables.get(at).is_some_and(|table| table.meter.is_some()) {
            return Ok(());
        }
        Err(ControlError::invalid(format!("table {table} has no direct meter")))
    }

    /// Names of the register arrays.
    pub fn registers(&self) -> Vec<String> {
        self.program.registers.iter().map(|register| register.name.clone()).collect()
    }

    fn register(&self, name: &str) -> Result<(usize, usize, u32)> {
        let at = find(&self.program.registers, "register", name, |register| &register.name)?;
        let def = self.program.registers.get(at).ok_or_else(|| ControlError::not_found(name))?;
        Ok((at, def.size, def.bits))
    }

    /// Number of cells and their width in bits.
    pub fn register_size(&self, register: &str) -> Result<(usize, u32)> {
        self.register(register).map(|(_, size, bits)| (size, bits))
    }

    /// The cell, big endian, in as many bytes as its width needs.
    pub fn register_read(&self, register: &str, index: usize) -> Result<Vec<u8>> {
        let (at, size, bits) = self.register(register)?;
        let cell = self.externs.registers.get(at).and_then(|array| array.read(index as u64));
        let (words, _) = cell.ok_or_else(|| out_of_range(register, index, size))?;
        Ok(bytes::from_words(words, bits))
    }

    /// `value` is big endian; one that does not fit the width is refused.
    pub fn register_write(&mut self, register: &str, index: usize, value: &[u8]) -> Result<()> {
        let (at, size, bits) = self.register(register)?;
        let words = bytes::to_words(value, bits)
            .ok_or_else(|| ControlError::invalid(format!("the value does not fit the {bits} bits of {register}")))?;
        let cell = self.externs.registers.get_mut(at).and_then(|array| array.cell_mut(index as u64));
        let (cell, _) = cell.ok_or_else(|| out_of_range(register, index, size))?;
        cell.copy_from_slice(&words);
        Ok(())
    }
}
