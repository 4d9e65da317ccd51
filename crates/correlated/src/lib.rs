//! Correlated randomness: made by preprocessing and used up by computation on shares.

pub mod authenticated;
pub mod buffered;
pub mod demand;
mod error;
pub mod generator;
pub mod mascot;
pub mod semi_honest;
mod store_error;
pub mod stored;

pub use error::CorrelatedError;
pub use store_error::StoreError;
