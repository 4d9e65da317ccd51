//! Oblivious algorithms on lane vectors: sort, merge, compaction, scans, joins
