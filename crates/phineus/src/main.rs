//! The `phineus` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    phineus_cli::main(phineus_cli::Registry::built_in())
}
