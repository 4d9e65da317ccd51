//! Interprets a planned program inside a memory limit: frames, storage, clear driver
