//! `doctor`: reports the equipment of this machine, and whether a peer can be reached.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::path::Path;
use std::time::{Duration, Instant};

use phineus_channels::Address;
use phineus_crypto::{Kernel, measure};
use phineus_engine::{
    StorageBackend, available_memory_bytes, forbid_core_dumps, io_uring_refusal,
    memlock_limit_bytes, probe_disk,
};
use phineus_session::accelerator;
use phineus_session::failure::{Failure, codes};
use phineus_tables::quantity;
use serde_json::{Map, Value};

use crate::arguments::DoctorArguments;
use crate::output::Console;

/// First bytes from both ends, so that neither measures another kind of peer by mistake.
const GREETING: &[u8; 16] = b"phineus doctor 1";

/// Bytes sent to measure bandwidth: a second at 250 Mbit/s.
const TRIAL_BYTES: u32 = 32 << 20;

/// Bytes that a listener sends or takes at most for one request.
const REQUEST_BYTES_MAX: u32 = 64 << 20;

/// Round trips of which the fastest counts.
const PINGS: usize = 11;

const PATIENCE: Duration = Duration::from_secs(10);

/// Looks at this machine, or at the way to a peer.
pub(crate) fn run(doctor: &DoctorArguments, console: &Console) -> Result<(), Failure> {
    if let Some(port) = doctor.listen {
        return listen(port, console);
    }
    let mut findings = Findings { console, object: Map::new() };
    match &doctor.peer {
        Some(peer) => examine_peer(peer, &mut findings)?,
        None => examine_machine(doctor, &mut findings)?,
    }
    if console.is_json {
        console.document(Value::Object(findings.object));
    }
    Ok(())
}

/// Findings, printed as lines or as one JSON object.
struct Findings<'a> {
    console: &'a Console,
    object: Map<String, Value>,
}

impl Findings<'_> {
    fn add(&mut self, name: &str, value: impl Into<Value>, text: &str) -> Result<(), Failure> {
        self.object.insert(name.replace(' ', "_"), value.into());
        if self.console.is_json {
            return Ok(());
        }
        self.console.print(&format!("{name:<16} {text}"))
    }
}

fn examine_machine(doctor: &DoctorArguments, findings: &mut Findings<'_>) -> Result<(), Failure> {
    let kernel = Kernel::selected();
    let rate = measure::independent_gates(kernel, measure::GarblingRole::Garble, 4096, 4096, 5);
    let supported: Vec<&str> = Kernel::supported().map(Kernel::name).collect();
    let rates = format!("{:.0} M AND/s garbled on one core", rate.median / 1e6);
    let has = supported.join(", ");
    findings.add(
        "aes kernel",
        kernel.name(),
        &format!("{} ({rates}; this CPU has {has})", kernel.name()),
    )?;
    findings.add("garbled ands per s", rate.median, &format!("{:.0}", rate.median))?;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    findings.add("cores", cores, &cores.to_string())?;
    match available_memory_bytes() {
        Some(bytes) => {
            findings.add("memory", bytes, &format!("{} free", quantity::bytes(bytes)))?
        }
        None => findings.add("memory", Value::Null, "the system does not say")?,
    }
    match forbid_core_dumps() {
        Ok(()) => findings.add("core dumps", "off", "can be turned off, and are during a run")?,
        Err(error) => {
            let text = format!("cannot be turned off ({error}): secrets could reach a disk");
            findings.add("core dumps", "on", &text)?;
        }
    }
    match io_uring_refusal() {
        None => findings.add("io_uring", "yes", "can be used")?,
        Some(reason) => {
            let text = format!("not here: {reason}; threads are used instead");
            findings.add("io_uring", reason, &text)?;
        }
    }
    match memlock_limit_bytes() {
        Some(bytes) => findings.add("locked memory", bytes, &quantity::bytes(bytes))?,
        None => findings.add("locked memory", Value::Null, "unlimited")?,
    }
    for (name, value, text) in accelerator::findings() {
        findings.add(name, value, &text)?;
    }
    if doctor.no_disk {
        return Ok(());
    }
    let directory = doctor.swap_dir.clone().unwrap_or_else(std::env::temp_dir);
    examine_disk(&directory, findings)
}

fn examine_disk(directory: &Path, findings: &mut Findings<'_>) -> Result<(), Failure> {
    let figures = probe_disk(directory, StorageBackend::Auto)?;
    let rate = |bytes: f64| format!("{}/s", quantity::bytes(bytes as u64));
    let place = directory.display().to_string();
    let how = if figures.is_direct { "past the page cache" } else { "through the page cache" };
    let text = format!("{place} with {}, {how}", figures.backend_name);
    findings.add("swap directory", place, &text)?;
    if figures.is_memory_backed {
        findings.add(
            "swap in memory",
            true,
            "this directory lives in memory: swapping there saves none",
        )?;
    }
    for (name, bytes) in [
        ("write", figures.sequential_write_bytes_per_s),
        ("read", figures.sequential_read_bytes_per_s),
        ("random write", figures.random_write_bytes_per_s),
        ("random read", figures.random_read_bytes_per_s),
    ] {
        findings.add(&format!("disk {name}"), bytes, &rate(bytes))?;
    }
    let latency = figures.read_latency;
    let text = format!("{} for a page of 64 KiB", quantity::duration(latency));
    findings.add("disk latency", latency.as_secs_f64(), &text)
}

fn examine_peer(peer: &str, findings: &mut Findings<'_>) -> Result<(), Failure> {
    let address = Address::parse(peer).map_err(Failure::usage)?;
    let unreachable = |detail: String| {
        Failure::new(codes::NOT_THERE, format!("{address} cannot be reached: {detail}"))
            .remedy("check the address and that a firewall lets the port through")
    };
    let resolved = (address.host.as_str(), address.port).to_socket_addrs();
    let targets: Vec<SocketAddr> = resolved.map_err(|e| unreachable(e.to_string()))?.collect();
    let mut last = "the host has no address".to_owned();
    for target in targets {
        let start = Instant::now();
        match TcpStream::connect_timeout(&target, PATIENCE) {
            Ok(stream) => {
                let connected = start.elapsed();
                findings.add("reachable", true, &format!("yes, at {target}"))?;
                return examine_stream(stream, connected, findings);
            }
            Err(error) => last = error.to_string(),
        }
    }
    Err(unreachable(last))
}

fn examine_stream(
    mut stream: TcpStream,
    connected: Duration,
    findings: &mut Findings<'_>,
) -> Result<(), Failure> {
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut greeting = [0u8; GREETING.len()];
    let greeted = stream.write_all(GREETING).and_then(|()| stream.read_exact(&mut greeting));
    if greeted.is_err() || greeting != *GREETING {
        let text = format!("about {} (of connecting)", quantity::duration(connected));
        findings.add("round trip", connected.as_secs_f64(), &text)?;
        let text = "not measured: run `phineus doctor --listen` there";
        return findings.add("bandwidth", Value::Null, text);
    }
    let broken = |error: std::io::Error| {
        Failure::new(codes::BROKEN_MEASUREMENT, format!("the peer stopped answering: {error}"))
    };
    let mut fastest = Duration::MAX;
    for _ in 0..PINGS {
        let start = Instant::now();
        request(&mut stream, b'p', 0).map_err(broken)?;
        stream.read_exact(&mut [0u8; 1]).map_err(broken)?;
        fastest = fastest.min(start.elapsed());
    }
    findings.add("round trip", fastest.as_secs_f64(), &quantity::duration(fastest))?;
    for (name, code) in [("bandwidth there", b't'), ("bandwidth back", b'b')] {
        let start = Instant::now();
        request(&mut stream, code, TRIAL_BYTES).map_err(broken)?;
        if code == b't' {
            send_zeros(&mut stream, TRIAL_BYTES).map_err(broken)?;
            stream.read_exact(&mut [0u8; 1]).map_err(broken)?;
        } else {
            receive(&mut stream, TRIAL_BYTES).map_err(broken)?;
        }
        let bits = f64::from(TRIAL_BYTES) * 8.0 / start.elapsed().as_secs_f64();
        findings.add(name, bits, &format!("{:.0} Mbit/s", bits / 1e6))?;
    }
    Ok(())
}

fn request(stream: &mut TcpStream, code: u8, length: u32) -> std::io::Result<()> {
    let mut message = [code, 0, 0, 0, 0];
    message[1..].copy_from_slice(&length.to_le_bytes());
    stream.write_all(&message)
}

fn send_zeros(stream: &mut impl Write, length: u32) -> std::io::Result<()> {
    let zeros = [0u8; 64 * 1024];
    let mut left = length as usize;
    while left > 0 {
        let count = left.min(zeros.len());
        stream.write_all(&zeros[..count])?;
        left -= count;
    }
    Ok(())
}

fn receive(stream: &mut impl Read, length: u32) -> std::io::Result<()> {
    let mut buffer = [0u8; 64 * 1024];
    let mut left = length as usize;
    while left > 0 {
        let count = left.min(buffer.len());
        stream.read_exact(&mut buffer[..count])?;
        left -= count;
    }
    Ok(())
}

/// Answers peers until interrupted.
fn listen(port: u16, console: &Console) -> Result<(), Failure> {
    let everywhere = [
        SocketAddr::from((Ipv6Addr::UNSPECIFIED, port)),
        SocketAddr::from((Ipv4Addr::UNSPECIFIED, port)),
    ];
    let listener = TcpListener::bind(everywhere.as_slice()).map_err(|error| {
        Failure::new(codes::CANNOT_LISTEN, format!("cannot listen at port {port}: {error}"))
    })?;
    console.say(&format!(
        "listening at port {port}; run `phineus doctor --peer HOST:{port}` there; Ctrl-C ends it"
    ));
    for stream in listener.incoming() {
        let Ok(stream) = stream else { continue };
        let from = stream.peer_addr().map_or_else(|_| "somebody".to_owned(), |a| a.to_string());
        match answer(stream) {
            Ok(()) => console.say(&format!("{from} measured the path to this party")),
            Err(error) => console.say(&format!("{from} ended: {error}")),
        }
    }
    Ok(())
}

fn answer(mut stream: TcpStream) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut greeting = [0u8; GREETING.len()];
    stream.read_exact(&mut greeting)?;
    if greeting != *GREETING {
        return Err(std::io::Error::other("it is not a doctor"));
    }
    stream.write_all(GREETING)?;
    let mut message = [0u8; 5];
    loop {
        match stream.read_exact(&mut message) {
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => return Ok(()),
            read => read?,
        }
        let length = u32::from_le_bytes([message[1], message[2], message[3], message[4]]);
        if length > REQUEST_BYTES_MAX {
            return Err(std::io::Error::other("it asked for too much"));
        }
        match message[0] {
            b'p' => stream.write_all(b"p")?,
            b't' => {
                receive(&mut stream, length)?;
                stream.write_all(b"t")?;
            }
            b'b' => send_zeros(&mut stream, length)?,
            _ => return Err(std::io::Error::other("it asked for something unknown")),
        }
    }
}
