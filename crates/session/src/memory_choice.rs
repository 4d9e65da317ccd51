//! [`MemoryChoice`]: how a memory of a program is accessed, and what other methods would cost.

use std::time::Duration;

use phineus_bytecode::limits::TABLE_ROW_BITS_MAX;
use phineus_bytecode::{Memory, MemoryMethod};
use phineus_oblivious::memory::MemoryUsage;
use phineus_tables::quantity;

/// A memory of a program, and how it is accessed.
#[derive(Clone, Debug)]
pub struct MemoryChoice {
    /// The memory; the method is what the program asks for.
    pub shape: Memory,
    pub usage: MemoryUsage,
    pub method: MemoryMethod,
    /// What each method costs that the protocol can run, the cheapest first; nothing if it was not compared.
    pub prices: Vec<MemoryPrice>,
    /// Whether there is too little memory to compare methods.
    pub is_little_memory: bool,
}

/// What a method costs for all accesses of a memory.
#[derive(Clone, Copy, Debug)]
pub struct MemoryPrice {
    pub method: MemoryMethod,
    /// Predicted time.
    pub seconds: f64,
    /// Bytes that the party sends that sends most.
    pub sent_bytes: u64,
}

impl MemoryChoice {
    /// How many tables the method takes: one for each piece of a row.
    pub fn tables(&self) -> usize {
        match MemoryMethod::IN_TABLES.contains(&self.method) {
            true => self.shape.row_bits().div_ceil(TABLE_ROW_BITS_MAX.into()) as usize,
            false => 0,
        }
    }

    /// The cheapest method that takes no tables, of which a program has a limited number; the same one if the program asks
    /// for it.
    pub fn without_tables(self) -> MemoryChoice {
        if self.shape.method.is_some() {
            return self;
        }
        let mut methods = self.prices.iter().map(|price| price.method);
        let other = methods.find(|method| !MemoryMethod::IN_TABLES.contains(method));
        MemoryChoice { method: other.unwrap_or(MemoryMethod::Scan), ..self }
    }

    /// One line about the memory, the choice and the others.
    pub fn sentence(&self) -> String {
        let Memory { name, rows, .. } = &self.shape;
        let MemoryUsage { reads, changes, .. } = self.usage;
        let (rows, bits) = (quantity::count(*rows), self.shape.row_bits());
        let (reads, changes) = (quantity::count(reads), quantity::count(changes));
        let price = |price: &MemoryPrice| {
            let time = Duration::from_secs_f64(price.seconds);
            let (time, sent) = (quantity::duration(time), quantity::bytes(price.sent_bytes));
            format!("{} {time} and {sent}", price.method.name())
        };
        let (ours, others): (Vec<_>, Vec<_>) =
            self.prices.iter().partition(|price| price.method == self.method);
        let chosen = ours.first().map_or(self.method.name().to_owned(), &price);
        let why = match (self.shape.method, others.is_empty()) {
            (Some(_), _) => "as the program asks".to_owned(),
            (None, true) if self.is_little_memory => {
                "other methods are compared from 64 MiB of memory on".to_owned()
            }
            (None, true) => "no other method can do it here".to_owned(),
            (None, false) => others.iter().map(price).collect::<Vec<_>>().join(", "),
        };
        let name = name.escape_debug();
        format!(
            "{name}: {rows} rows of {bits} bits, {reads} reads, {changes} changes: {chosen} ({why})"
        )
    }
}
