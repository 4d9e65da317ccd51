//! Progress display: a bar on a terminal, otherwise a line every ten seconds.

use std::io::{IsTerminal, Write};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use phineus_session::failure::Failure;
use phineus_session::progress::{Event, Listener, Progress, Snapshot};
use phineus_tables::quantity;
use serde::{Deserialize, Serialize};

use crate::cancel::cancel;
use crate::words::worded;

/// How often a bar or a child's line is renewed.
const BAR_PAUSE: Duration = Duration::from_millis(200);

/// How often a line is printed where there is no terminal.
const LINE_PAUSE: Duration = Duration::from_secs(10);

/// One line of a child process to its parent.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum ChildMessage {
    Session(Event),
    End(ChildExit),
}

/// How a child process ends.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "end", rename_all = "lowercase")]
pub(crate) enum ChildExit {
    Done,
    Failed { failure: serde_json::Value },
}

enum OutputMode {
    Bar(ProgressBar),
    Lines,
    /// One line of JSON an event, on stdout.
    Events,
    Quiet,
}

struct DisplayState {
    voice: OutputMode,
    verbose: bool,
    last_line: Mutex<Option<Instant>>,
}

/// Shows the events of a session; clones show them at the same place.
#[derive(Clone)]
pub(crate) struct Display(Arc<DisplayState>);

impl Display {
    /// For a user: a bar on a terminal, else lines; nothing if `quiet`.
    pub(crate) fn for_user(quiet: bool, verbose: bool) -> Display {
        let voice = if quiet {
            OutputMode::Quiet
        } else if std::io::stderr().is_terminal() {
            OutputMode::Bar(ProgressBar::with_draw_target(
                Some(1000),
                ProgressDrawTarget::stderr_with_hz(8),
            ))
        } else {
            OutputMode::Lines
        };
        Display::new(voice, verbose)
    }

    /// For a parent process: one event a line on stdout.
    pub(crate) fn for_parent() -> Display {
        Display::new(OutputMode::Events, false)
    }

    fn new(voice: OutputMode, verbose: bool) -> Display {
        Display(Arc::new(DisplayState { voice, verbose, last_line: Mutex::new(None) }))
    }

    /// The line to a session that is shown here, and that a signal ends.
    pub(crate) fn progress(&self) -> Progress {
        Progress::new(self.clone(), cancel().clone())
    }

    fn stage(&self, text: &str) {
        match &self.0.voice {
            OutputMode::Bar(bar) => {
                bar.set_style(spinner());
                bar.set_message(text.to_owned());
                bar.tick();
            }
            OutputMode::Lines if self.0.verbose => say(text),
            OutputMode::Lines | OutputMode::Quiet | OutputMode::Events => {}
        }
    }

    fn note(&self, text: &str) {
        match &self.0.voice {
            OutputMode::Bar(bar) => bar.suspend(|| say(text)),
            OutputMode::Lines => say(text),
            OutputMode::Quiet | OutputMode::Events => {}
        }
    }

    fn warning(&self, text: &str) {
        match &self.0.voice {
            OutputMode::Bar(bar) => bar.suspend(|| say(text)),
            OutputMode::Lines | OutputMode::Quiet | OutputMode::Events => say(text),
        }
    }

    fn waiting(&self, parties: &[String], seconds: u64) {
        let text = format!("waiting for {} {seconds} s", parties.join(", "));
        if seconds == 0 {
            return;
        }
        match &self.0.voice {
            OutputMode::Lines if seconds % LINE_PAUSE.as_secs() == 1 => say(&text),
            OutputMode::Bar(_) | OutputMode::Lines | OutputMode::Events | OutputMode::Quiet => {
                self.stage(&text)
            }
        }
    }

    fn running(&self, snapshot: &Snapshot) {
        match &self.0.voice {
            OutputMode::Bar(bar) => {
                bar.set_style(running_style());
                bar.set_length(snapshot.total.max(1));
                bar.set_position(snapshot.done);
                bar.set_message(describe(snapshot));
            }
            OutputMode::Lines => {
                let mut last = self.0.last_line.lock().expect("nobody panics while holding it");
                let first = *last.get_or_insert_with(Instant::now);
                if first.elapsed() >= LINE_PAUSE {
                    *last = Some(Instant::now());
                    // Of a program that decides how often its parts run, the total counts each
                    // once.
                    let percent = (100 * snapshot.done / snapshot.total.max(1)).min(100);
                    say(&format!("{percent:3} %  {}", describe(snapshot)));
                }
            }
            OutputMode::Quiet | OutputMode::Events => {}
        }
    }

    /// Takes the bar away.
    pub(crate) fn clear(&self) {
        if let OutputMode::Bar(bar) = &self.0.voice {
            bar.finish_and_clear();
        }
    }

    /// Tells a parent how the process ends; nothing otherwise.
    pub(crate) fn ended(&self, result: Result<(), &Failure>) {
        self.clear();
        if matches!(self.0.voice, OutputMode::Events) {
            emit(&ChildMessage::End(match result {
                Ok(()) => ChildExit::Done,
                Err(failure) => ChildExit::Failed { failure: worded(failure).to_json() },
            }));
        }
    }
}

impl Listener for Display {
    fn hear(&self, event: Event) {
        match &self.0.voice {
            OutputMode::Events => emit(&ChildMessage::Session(event)),
            OutputMode::Bar(_) | OutputMode::Lines | OutputMode::Quiet => match event {
                Event::Stage { text } => self.stage(&text),
                Event::Note { text } => self.note(&text),
                Event::Warning { text } => self.warning(&text),
                Event::Waiting { parties, seconds } => self.waiting(&parties, seconds),
                Event::Running(snapshot) => self.running(&snapshot),
            },
        }
    }

    fn pause(&self) -> Duration {
        if matches!(self.0.voice, OutputMode::Quiet) { LINE_PAUSE } else { BAR_PAUSE }
    }
}

/// Prints a line to stderr; a stderr that is gone is no reason to fail.
pub(crate) fn say(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

fn emit(line: &ChildMessage) {
    if let Ok(line) = serde_json::to_string(line) {
        let mut stdout = std::io::stdout().lock();
        let _ = writeln!(stdout, "{line}").and_then(|()| stdout.flush());
    }
}

fn spinner() -> ProgressStyle {
    ProgressStyle::with_template("{spinner} {msg}").expect("a template of ours")
}

fn running_style() -> ProgressStyle {
    ProgressStyle::with_template("{wide_bar} {percent:>3} %  {eta:>4}  {msg}")
        .expect("a template of ours")
}

fn describe(snapshot: &Snapshot) -> String {
    let traffic = quantity::bytes(snapshot.sent_bytes + snapshot.received_bytes);
    let memory = quantity::bytes(snapshot.memory_bytes);
    let limit = quantity::bytes(snapshot.limit_bytes);
    let mut text = format!("{traffic}  memory {memory} of {limit}");
    if let Some((peer, seconds)) = &snapshot.waiting_for {
        text.push_str(&format!("  waiting for {peer} {seconds} s"));
    }
    text
}
