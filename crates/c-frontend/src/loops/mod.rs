pub(crate) mod exits;
