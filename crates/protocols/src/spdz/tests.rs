//! Whole runs: of honest parties, with a corrupted party, and with owners that lie about their rows.

mod corrupted;
mod runs;
mod unsorted;
