//! Two-party garbled circuits and oblivious transfer
