//! What the tests of the command share: a place of their own, and the command in it.

#![allow(dead_code)] // Each test file uses a part.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use phineus_frontend::{Arguments, Program, trace_to_file};

pub type Result<T = ()> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Three parties' squares and products are added on additive shares and compared with a bound on
/// XOR shares: triples, squares and shared bits of each kind.
pub const THREE: &str = "\
phineus 5 program
name \"three\"
party \"ann\"
party \"ben\"
party \"cid\"
input_port \"a\" party=0 rows=3
  column \"x\" u32 number
input_port \"b\" party=1 rows=3
  column \"x\" u32 number
input_port \"c\" party=2 rows=3
  column \"x\" u32 number
output_port \"sum\" parties=0,1,2 rows=3
  column \"sum\" u32 number
output_port \"large\" parties=1 rows=3
  column \"large\" u1 number
%0 = input u32@ax3 port=0 column=0 row=0
%1 = input u32@ax3 port=1 column=0 row=0
%2 = input u32@ax3 port=2 column=0 row=0
%3 = mul u32@ax3 %0 %0
%4 = mul u32@ax3 %1 %2
%5 = add u32@ax3 %3 %4
output u32@ax3 %5 port=0 column=0 row=0
%6 = convert u32@bx3 %5 from=1
%7 = constant u32@bx3 value=0x64
%8 = lt u32@bx3 %7 %6
output u1@bx3 %8 port=1 column=0 row=0
";

/// A directory for one test, and the command run in it.
pub struct Place {
    directory: tempfile::TempDir,
}

/// What a command did.
pub struct Done {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Place {
    pub fn new() -> Result<Place> {
        Ok(Place { directory: tempfile::tempdir()? })
    }

    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    pub fn write(&self, name: &str, text: impl AsRef<[u8]>) -> Result {
        Ok(std::fs::write(self.file(name), text)?)
    }

    /// Writes the program file of a program without parameters.
    pub fn write_program(&self, name: &str, program: &dyn Program) -> Result {
        let (mut file, _) = trace_to_file(program, &Arguments::new(program, [])?)?;
        std::io::copy(&mut file, &mut std::fs::File::create(self.file(name))?)?;
        Ok(())
    }

    pub fn read(&self, name: &str) -> Result<String> {
        Ok(std::fs::read_to_string(self.file(name))?)
    }

    /// The command, to be run here; arguments are separated by spaces.
    pub fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_phineus"));
        command.args(arguments.split_whitespace());
        self.settle(&mut command);
        command
    }

    /// Makes `command` run here, untouched by the caller's environment.
    pub fn settle(&self, command: &mut Command) {
        for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("PHINEUS_")) {
            command.env_remove(name);
        }
        command.env("XDG_STATE_HOME", self.file("state"));
        command.current_dir(self.path());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    }

    pub fn run(&self, arguments: &str) -> Result<Done> {
        Ok(Done::of(self.command(arguments).output()?))
    }

    pub fn start(&self, arguments: &str) -> Result<Child> {
        Ok(self.command(arguments).spawn()?)
    }

    /// [`THREE`] in three.phi, and inputs for which the sums are 88, 100 and 150.
    pub fn three(&self) -> Result {
        self.write("three.phi", THREE)?;
        self.write("a.csv", "x\n5\n0\n65536\n")?;
        self.write("b.csv", "x\n7\n10\n3\n")?;
        self.write("c.csv", "x\n9\n10\n50\n")
    }

    /// What `explain` says of a run with correlated randomness from a dealer is what the last run
    /// measured.
    pub fn explains_fake(&self, program: &str, protocol: &str) -> Result {
        let line = format!("explain {program} --protocol {protocol} --fake-preprocessing --json");
        let told: serde_json::Value = serde_json::from_str(&self.run(&line)?.succeeded()?.stdout)?;
        if told["preprocessing"] != "fake" {
            return Err(format!("{line}: {told}").into());
        }
        let report: serde_json::Value = serde_json::from_str(&self.read("run.json")?)?;
        for (place, party) in report["parties"].as_array().ok_or("parties")?.iter().enumerate() {
            for (figure, name) in [("sent_bytes", "sent"), ("received_bytes", "received")] {
                let explained = &told["plan"]["costs"][&format!("{name}_bytes_{place}")];
                if explained.is_null() || *explained != party["measured"][figure] {
                    let measured = &party["measured"][figure];
                    return Err(format!("{protocol}: {explained} {name}, not {measured}").into());
                }
            }
        }
        Ok(())
    }

    /// Files here, sorted.
    pub fn files(&self) -> Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in std::fs::read_dir(self.path())? {
            names.push(entry?.file_name().to_string_lossy().into_owned());
        }
        names.sort();
        Ok(names)
    }

    /// Keys for two parties that trust each other, in id_NAME, and their cluster.toml.
    pub fn two_parties(&self, names: [&str; 2]) -> Result {
        self.parties(&names)
    }

    /// The same for any number of parties.
    pub fn parties(&self, names: &[&str]) -> Result {
        let mut fingerprints = Vec::new();
        for name in names {
            let done = self.run(&format!("id init {name} --id-dir id_{name}"))?.succeeded()?;
            let fingerprint = done.stdout.split_whitespace().last().ok_or("no fingerprint")?;
            fingerprints.push(fingerprint.to_owned());
        }
        for dir in names {
            for (peer, key) in names.iter().zip(&fingerprints).filter(|(peer, _)| *peer != dir) {
                self.run(&format!("id trust {peer} {key} --id-dir id_{dir}"))?.succeeded()?;
            }
        }
        self.cluster(names)
    }

    /// A cluster.toml for these parties at ports that are free.
    pub fn cluster(&self, names: &[&str]) -> Result {
        let listeners: Vec<_> = names
            .iter()
            .map(|_| std::net::TcpListener::bind("127.0.0.1:0"))
            .collect::<std::io::Result<_>>()?;
        let mut text = String::new();
        for (name, listener) in names.iter().zip(&listeners) {
            let address = listener.local_addr()?;
            text.push_str(&format!("[[party]]\nname = \"{name}\"\naddress = \"{address}\"\n"));
        }
        self.write("cluster.toml", text)
    }
}

impl Done {
    pub fn of(output: Output) -> Done {
        Done {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    pub fn succeeded(self) -> Result<Done> {
        self.failed_with(0)
    }

    /// The command ended with `code` and without a panic.
    pub fn failed_with(self, code: i32) -> Result<Done> {
        if self.code != Some(code) {
            let Done { code: found, stdout, stderr } = &self;
            return Err(format!("expected {code}, got {found:?}\n{stdout}\n{stderr}").into());
        }
        for word in ["panicked", "E1999", "bug in Phineus"] {
            if self.stderr.contains(word) {
                return Err(format!("a panic reached the user: {}", self.stderr).into());
            }
        }
        Ok(self)
    }

    /// The one document on stdout of a command with `--json`; its error, if the command failed, has
    /// the exit code.
    pub fn document(&self) -> Result<serde_json::Value> {
        let Done { code, stdout, stderr } = self;
        let document: serde_json::Value = serde_json::from_str(stdout)
            .map_err(|error| format!("{error}: exit code {code:?}\n{stdout}\n{stderr}"))?;
        let stated = document["error"]["exit_code"].as_i64().unwrap_or(0);
        if code.map(i64::from) != Some(stated) {
            return Err(format!("exit code {code:?}, document {document}").into());
        }
        Ok(document)
    }

    /// Stderr says `part`.
    pub fn says(self, part: &str) -> Result<Done> {
        if self.stderr.contains(part) {
            return Ok(self);
        }
        Err(format!("expected '{part}' in:\n{}", self.stderr).into())
    }
}

/// Waits for a process at most `limit`; kills it after that.
pub fn wait(mut child: Child, limit: Duration) -> Result<Done> {
    let end = Instant::now() + limit;
    while child.try_wait()?.is_none() {
        if Instant::now() > end {
            child.kill()?;
            let done = Done::of(child.wait_with_output()?);
            return Err(format!("it hangs; it said:\n{}", done.stderr).into());
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(Done::of(child.wait_with_output()?))
}

/// Whether a process ends within `limit`.
pub fn ends_within(child: &mut Child, limit: Duration) -> Result<bool> {
    let end = Instant::now() + limit;
    while child.try_wait()?.is_none() {
        if Instant::now() > end {
            return Ok(false);
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(true)
}

/// `rows` users of a site: `shared` on both sites, every second of those with the same hash.
pub fn users(site: u64, rows: u64, shared: u64) -> String {
    let mut text = String::from("user,password_hash\n");
    for row in 0..rows {
        let user = if row < shared { row } else { (site + 1) * 1_000_000 + row };
        let hash = if row < shared && row % 2 == 0 { user } else { user * 7 + site + 1 };
        text.push_str(&format!("user{user},{hash:x}\n"));
    }
    text
}
