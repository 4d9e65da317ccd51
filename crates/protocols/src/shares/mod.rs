//! Shares as they lie in memory and travel, and the recorded circuits that are computed on them: what
//! protocols on additive and XOR shares have in common.

pub(crate) mod client;
pub(crate) mod elements;
pub(crate) mod repeated;
pub(crate) mod ring;
pub(crate) mod transpose;
pub(crate) mod values;
pub(crate) mod words;
