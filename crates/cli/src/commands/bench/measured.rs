//! Programs that only measure operations. They run by name, as `bench shares` and the scripts of
//! `benches/` run them, but `phineus programs` does not list them.

mod accesses;
mod beside;
mod operations;
#[cfg(test)]
mod tests;

pub(super) use accesses::COLUMN_BITS;
use phineus_frontend::Program;

/// All of them.
pub(crate) fn all() -> Vec<Box<dyn Program>> {
    vec![
        Box::new(operations::IntegerOperation),
        Box::new(operations::Ands),
        Box::new(beside::DeepBesideWide),
        Box::new(accesses::MemoryAccesses),
    ]
}

/// The two parties that all of them have by default.
fn sites() -> Vec<String> {
    ["site_a", "site_b"].map(String::from).to_vec()
}
