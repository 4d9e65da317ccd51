//! The planner: placement, replacement, scheduling, and an independent checker
