//! The `phineus` command with LLVM in it, which `phineus` becomes where a C program is to be read: so
//! that nothing else pays for what LLVM's libraries take of a process.

use std::process::ExitCode;

fn main() -> ExitCode {
    phineus_cli::main(phineus_cli::Registry::built_in().with_c())
}
