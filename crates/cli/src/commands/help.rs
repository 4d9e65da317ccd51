//! `phineus help`: what a command does, or what the code of an error means.

use clap::Parser;
use phineus_session::failure::Failure;
use phineus_session::failure::codes::Code;
use serde_json::json;

use crate::arguments::{Cli, HelpArguments};
use crate::output::Console;

pub(crate) fn run(help: &HelpArguments, console: &Console) -> Result<(), Failure> {
    if let [word] = &help.what[..]
        && let Some(code) = Code::parse(word)
    {
        return explain(code, console);
    }
    let words = help.what.iter().map(String::as_str);
    let typed = ["phineus"].into_iter().chain(words).chain(["--help"]);
    let Err(shown) = Cli::try_parse_from(typed) else { return Ok(()) };
    let text = shown.render().to_string();
    if shown.use_stderr() {
        let message = format!("there is no command or error code '{}'", help.what.join(" "));
        return Err(Failure::usage(message)
            .remedy("`phineus help` lists the commands, docs/errors.md the codes"));
    }
    match console.is_json {
        true => console.document(json!({ "help": text })),
        false => console.print(text.trim_end())?,
    }
    Ok(())
}

fn explain(code: Code, console: &Console) -> Result<(), Failure> {
    let (exit, class) = (code.exit as u8, code.exit.meaning());
    match console.is_json {
        true => console.document(json!({
            "code": code.to_string(),
            "exit_code": exit,
            "class": class,
            "meaning": code.meaning,
        })),
        false => console.print(&format!("{code} (exit code {exit}, {class}): {}", code.meaning))?,
    }
    Ok(())
}
