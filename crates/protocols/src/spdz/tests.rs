//! Whole runs: of honest parties, with a corrupted party, and with owners that lie about their rows.

mod altered;
mod corrupted;
mod runs;
mod unsorted;
