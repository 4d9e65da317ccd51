//! How fast channels are: one-way throughput, CPU time, and small round trips.
//!
//! `cargo run --release -p phineus-channels --example throughput [GiB [TRANSPORT [REPETITIONS]]]`
//!
//! TRANSPORT is memory, tcp, tls or quic; without it all are measured. Both ends run in this
//! process; the CPU time is that of both ends together, per GiB. The last line is the peak resident
//! memory of the process with its two channels (take one repetition for it: the allocator keeps
//! what earlier channels gave back).

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use phineus_channels::{
    Channel, ChannelError, ClusterConfig, ConnectionSecurity, FramedChannel, Identity,
    MAX_BORROW_BYTES, MeshSettings, PlainLoopback, Timeouts, Transport, TrustStore, connect_mesh,
    memory_pair, only_channel,
};

type Failure = Box<dyn std::error::Error + Send + Sync>;

const ROUND_TRIPS: u32 = 20_000;

fn main() -> Result<(), Failure> {
    let gib = std::env::args().nth(1).map_or(Ok(2.0), |text| text.parse::<f64>())?;
    let pieces = (gib * (1u64 << 30) as f64) as usize / MAX_BORROW_BYTES;
    println!(
        "{:>8} {:>10} {:>10} {:>14} {:>12}",
        "", "best GB/s", "median", "CPU s per GiB", "16 B RTT us"
    );
    let repetitions = std::env::args().nth(3).map_or(Ok(5), |text| text.parse::<usize>())?.max(1);
    let only = std::env::args().nth(2);
    println!("{:>8} {:>52.1}", "kernel", kernel_round_trip_us()?);
    for name in ["memory", "tcp", "tls", "quic"] {
        if only.as_ref().is_some_and(|only| only != name) {
            continue;
        }
        let mut speeds = Vec::new();
        let mut cpu_per_gib = f64::INFINITY;
        let mut round_trip = f64::INFINITY;
        for _ in 0..repetitions {
            let measured = match name {
                "memory" => {
                    let (a, b) = memory_pair();
                    measure(a, b, pieces)?
                }
                _ => {
                    let (a, b) = network_pair(name)?;
                    measure(a, b, pieces)?
                }
            };
            speeds.push(measured.gb_per_second);
            cpu_per_gib = cpu_per_gib.min(measured.cpu_seconds_per_gib);
            round_trip = round_trip.min(measured.round_trip_us);
        }
        speeds.sort_by(f64::total_cmp);
        let (best, median) = (speeds[repetitions - 1], speeds[repetitions / 2]);
        println!("{name:>8} {best:>10.2} {median:>10.2} {cpu_per_gib:>14.3} {round_trip:>12.1}");
    }
    println!("peak resident memory: {} KiB", peak_resident_kib()?);
    Ok(())
}

fn peak_resident_kib() -> Result<u64, Failure> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    Ok(number.ok_or("the status file has a peak")?.parse()?)
}

struct Measured {
    gb_per_second: f64,
    cpu_seconds_per_gib: f64,
    round_trip_us: f64,
}

fn measure<C: Channel + 'static>(mut a: C, mut b: C, pieces: usize) -> Result<Measured, Failure> {
    let receiving = thread::spawn(move || -> Result<C, ChannelError> {
        for _ in 0..ROUND_TRIPS {
            let word = b.recv_with(16, |bytes| <[u8; 16]>::try_from(bytes).expect("16 bytes"))?;
            b.send(&word)?;
            b.flush()?;
        }
        let mut sum = 0u64;
        for _ in 0..pieces {
            // One byte of each page is looked at: the cost of the channel, not of a consumer.
            sum += b.recv_with(MAX_BORROW_BYTES, |bytes| {
                bytes.iter().step_by(4096).map(|&byte| u64::from(byte)).sum::<u64>()
            })?;
        }
        assert_eq!(sum, pieces as u64 * (MAX_BORROW_BYTES as u64 / 4096));
        b.send(&[1; 16])?;
        b.flush()?;
        Ok(b)
    });
    let start = Instant::now();
    for _ in 0..ROUND_TRIPS {
        a.send(&[1; 16])?;
        a.flush()?;
        a.recv_with(16, |_| ())?;
    }
    let round_trip_us = start.elapsed().as_secs_f64() * 1e6 / f64::from(ROUND_TRIPS);

    let (start, cpu) = (Instant::now(), cpu_time()?);
    for _ in 0..pieces {
        // A producer that writes into the cache: a byte per cache line.
        a.send_with(MAX_BORROW_BYTES, |bytes| {
            bytes.iter_mut().step_by(64).for_each(|byte| *byte = 1);
        })?;
    }
    a.flush()?;
    a.recv_with(16, |_| ())?;
    let (seconds, cpu) = (start.elapsed().as_secs_f64(), (cpu_time()? - cpu).as_secs_f64());
    let bytes = (pieces * MAX_BORROW_BYTES) as f64;
    drop(receiving.join().expect("the receiver does not panic")?);
    Ok(Measured {
        gb_per_second: bytes / seconds / 1e9,
        cpu_seconds_per_gib: cpu / (bytes / (1u64 << 30) as f64),
        round_trip_us,
    })
}

/// CPU time of this process, all threads, in ticks of 10 ms: fields 14 and 15 of its stat file.
fn cpu_time() -> Result<Duration, Failure> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let after_name = stat.rsplit_once(')').ok_or("the stat file has a name")?.1;
    let mut fields = after_name.split_whitespace().skip(11);
    let mut ticks = || fields.next().and_then(|field| field.parse::<u64>().ok());
    let (user, system) = ticks().zip(ticks()).ok_or("the stat file has CPU times")?;
    Ok(Duration::from_millis(10 * (user + system)))
}

fn free_port() -> Result<u16, Failure> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}

/// A round trip without any of this code: what a channel's is to be compared with.
fn kernel_round_trip_us() -> Result<f64, Failure> {
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    let mut near = TcpStream::connect(listener.local_addr()?)?;
    let (mut far, _) = listener.accept()?;
    near.set_nodelay(true)?;
    far.set_nodelay(true)?;
    let echo = thread::spawn(move || -> std::io::Result<()> {
        let mut message = [0; 40];
        for _ in 0..ROUND_TRIPS {
            far.read_exact(&mut message)?;
            far.write_all(&message)?;
        }
        Ok(())
    });
    let start = Instant::now();
    let mut message = [0; 40];
    for _ in 0..ROUND_TRIPS {
        near.write_all(&message)?;
        near.read_exact(&mut message)?;
    }
    let took = start.elapsed();
    echo.join().expect("the echo does not panic")?;
    Ok(took.as_secs_f64() * 1e6 / f64::from(ROUND_TRIPS))
}

fn network_pair(name: &str) -> Result<(FramedChannel, FramedChannel), Failure> {
    let transport = if name == "quic" { Transport::Quic } else { Transport::Tcp };
    let cluster = ClusterConfig::local([("site_a", free_port()?), ("site_b", free_port()?)])
        .with_transport(transport);
    let (a, b) = (Identity::ephemeral("site_a")?, Identity::ephemeral("site_b")?);
    let (mut trusted_by_a, mut trusted_by_b) = (TrustStore::in_memory(), TrustStore::in_memory());
    trusted_by_a.trust("site_b", b.fingerprint())?;
    trusted_by_b.trust("site_a", a.fingerprint())?;
    let [security_a, security_b] = if name != "tcp" {
        [
            ConnectionSecurity::Tls { identity: a, trusted: trusted_by_a },
            ConnectionSecurity::Tls { identity: b, trusted: trusted_by_b },
        ]
    } else {
        let plain = PlainLoopback::new(&cluster)?;
        [ConnectionSecurity::Plain(plain.clone()), ConnectionSecurity::Plain(plain)]
    };
    let settings = |me, security| MeshSettings {
        cluster: &cluster,
        me,
        streams: 1,
        clients: 0,
        security,
        program_version: "throughput",
        purpose: "throughput",
        timeouts: Timeouts::default(),
        network: None,
        is_cancelled: &|| false,
    };
    thread::scope(|scope| {
        let b = scope.spawn(|| connect_mesh(&settings("site_b", &security_b), &mut |_| ()));
        let a = connect_mesh(&settings("site_a", &security_a), &mut |_| ())?;
        let b = b.join().expect("connecting does not panic")?;
        Ok((only_channel(a), only_channel(b)))
    })
}
