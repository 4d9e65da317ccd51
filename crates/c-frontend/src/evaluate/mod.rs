pub(crate) mod arithmetic;
pub(crate) mod dry_run;
pub(crate) mod select;
