//! `run --as`: two real processes, in any order, with wrong keys, other programs, and sudden ends.

mod common;

use std::time::Duration;

use common::{Done, Place, Result, ends_within, users, wait};

/// More than any of these runs takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

const SITES: [&str; 2] = ["site_a", "site_b"];

fn sites(rows: u64) -> Result<Place> {
    let place = Place::new()?;
    place.two_parties(SITES)?;
    place.write("a.csv", users(0, rows, rows / 10))?;
    place.write("b.csv", users(1, rows, rows / 10))?;
    Ok(place)
}

fn line(site: usize, more: &str) -> String {
    let (name, letter) = (SITES[site], ["a", "b"][site]);
    format!(
        "run password-reuse --as {name} --cluster cluster.toml --id-dir id_{name} \
         --in {letter}.csv --out result_{letter}.csv --report run_{letter}.json {more}"
    )
}

/// Starts both, `first` a little earlier, and waits for both.
fn both(place: &Place, first: usize, lines: [String; 2]) -> Result<[Done; 2]> {
    let one = place.start(&lines[first])?;
    std::thread::sleep(Duration::from_millis(400));
    let two = place.start(&lines[1 - first])?;
    let (one, two) = (wait(one, PATIENCE)?, wait(two, PATIENCE)?);
    Ok(if first == 0 { [one, two] } else { [two, one] })
}

#[test]
fn either_may_start_first() -> Result {
    let place = sites(60)?;
    for first in [0, 1] {
        let done = both(&place, first, [line(0, ""), line(1, "--memory 64MiB")])?;
        for (done, letter) in done.into_iter().zip(["a", "b"]) {
            let done = done.succeeded()?.says("connected, identity ok")?;
            assert_eq!(done.stdout, "");
            assert_eq!(place.read(&format!("result_{letter}.csv"))?, "reused_passwords\n3\n");
            std::fs::remove_file(place.file(&format!("result_{letter}.csv")))?;
        }
    }
    Ok(())
}

/// Parties that state other networks choose other methods: the reason is shown, not what follows from it.
#[test]
fn methods_of_memories_are_chosen_for_one_network() -> Result {
    let place = Place::new()?;
    place.two_parties(SITES)?;
    place.run("data binary-search --param n=600 --param searches=3")?.succeeded()?;
    let line = |site: usize, more: &str| {
        let (name, input) = (SITES[site], ["table", "keys"][site]);
        format!(
            "run binary-search --param layout=array --protocol gmw --as {name} --id-dir id_{name} \
             --in {input}={input}.csv --report none {more}"
        )
    };
    let done = both(&place, 0, [line(0, "--net rtt=1ms,bw=10mbit"), line(1, "")])?;
    for done in done {
        done.failed_with(7)?.says("--net, by which methods of memories are chosen, is")?;
    }
    let done = both(&place, 1, [line(0, "--memory 70MiB"), line(1, "--memory 1GiB")])?;
    for done in done {
        done.succeeded()?;
    }
    Ok(())
}

#[test]
fn parties_may_have_other_names_than_in_the_program() -> Result {
    let place = Place::new()?;
    place.two_parties(["left", "right"])?;
    place.write("left.csv", "wealth\n9\n")?;
    place.write("right.csv", "wealth\n5\n")?;
    let line = |name: &str| {
        format!("run millionaires --as {name} --id-dir id_{name} --in {name}.csv --report none")
    };
    let done = both(&place, 0, [line("left"), line("right")])?;
    for done in done {
        assert_eq!(done.succeeded()?.stdout, "alice_is_richer\n1\n");
    }
    assert!(!place.file("run.json").exists());
    Ok(())
}

#[test]
fn another_program_or_parameter_is_named() -> Result {
    let place = sites(20)?;
    for (other, part) in
        [("--param overlap=20", "parameter overlap is"), ("--param n=7", "parameter n is")]
    {
        let done = both(&place, 0, [line(0, ""), line(1, other)])?;
        for done in done {
            let done = done.failed_with(7)?.says(part)?;
            assert!(done.stderr.contains("E7100"), "{}", done.stderr);
        }
    }
    place.run("data sort --param n=20 --rows site_b=20")?.succeeded()?;
    let sort = line(1, "").replace("password-reuse", "sort").replace("b.csv", "site_b.csv");
    for done in both(&place, 1, [line(0, ""), sort])? {
        done.failed_with(7)?.says("program is")?;
    }
    assert!(!place.files()?.iter().any(|name| name.contains("result")));
    Ok(())
}

#[test]
fn protocols_and_manners_that_cannot_even_connect_are_named() -> Result {
    let place = sites(20)?;
    // garbled has fewer streams than the protocols on shares.
    let protocols = [line(0, ""), line(1, "--protocol gmw")];
    let [at_a, at_b] = both(&place, 0, protocols)?;
    at_a.failed_with(7)?.says("site_b was asked for gmw, and this party for garbled")?;
    at_b.failed_with(7)?.says("site_a was asked for garbled, and this party for gmw")?;
    for (more, says) in [
        (["", "--plain"], "site_a speaks TLS over TCP, and this party without TLS"),
        (["--plain", ""], "site_a speaks without TLS (`--plain`), and this party TLS over TCP"),
        (["--transport quic", ""], "site_a speaks QUIC, and this party TLS over TCP"),
        (["", "--transport quic"], "site_a speaks TLS over TCP, and this party QUIC"),
    ] {
        let start = std::time::Instant::now();
        let waiting = place.start(&line(0, &format!("{} --timeout 8", more[0])))?;
        std::thread::sleep(Duration::from_millis(300));
        let dialling = wait(place.start(&line(1, more[1]))?, PATIENCE)?;
        dialling.failed_with(7)?.says(says)?.says("nothing was revealed but, at most, a hello")?;
        assert!(start.elapsed() < Duration::from_secs(7), "the dialler waits for its time to end");
        // Who listens, and may be dialled by anybody, says it and waits on.
        let waiting = wait(waiting, PATIENCE)?.failed_with(7)?;
        waiting.says("turned away: somebody, most likely site_b, speaks ")?;
        assert!(start.elapsed() >= Duration::from_secs(8));
    }
    Ok(())
}

#[test]
fn a_changed_text_program_is_noticed() -> Result {
    let place = sites(20)?;
    let text = place.run("show millionaires")?.succeeded()?.stdout;
    place.write("one.phi", &text)?;
    // The same ports, another computation: greater becomes less.
    place.write("two.phi", text.replace("lt u64x1 %1 %0", "lt u64x1 %0 %1"))?;
    place.write("wealth.csv", "wealth\n5\n")?;
    if place.read("one.phi")? == place.read("two.phi")? {
        return Err("the test changes nothing".into());
    }
    let line = |site: usize, file: &str| {
        let name = SITES[site];
        format!("run {file} --as {name} --id-dir id_{name} --in wealth.csv --report none")
    };
    for done in both(&place, 0, [line(0, "one.phi"), line(1, "two.phi")])? {
        done.failed_with(7)?.says("program hash is")?;
    }
    for done in both(&place, 0, [line(0, "one.phi"), line(1, "one.phi")])? {
        assert_eq!(done.succeeded()?.stdout, "alice_is_richer\n0\n");
    }
    Ok(())
}

#[test]
fn keys_must_be_the_trusted_ones() -> Result {
    let place = sites(20)?;
    // A new key at site_b, of which site_a does not know.
    place.run("id init site_b --id-dir other")?.succeeded()?;
    let key = place.run("id show --id-dir id_site_a")?.succeeded()?.stdout;
    let key = key.split_whitespace().last().ok_or("a fingerprint")?;
    place.run(&format!("id trust site_a {key} --id-dir other"))?.succeeded()?;
    let stranger = line(1, "").replace("id_site_b", "other");
    let patient = "--timeout 5";
    let [a, b] = both(&place, 0, [line(0, patient), stranger])?;
    a.failed_with(7)?.says("site_b presented the key")?;
    b.failed_with(7)?.says("site_a refused the key of site_b")?;
    place.run("id untrust site_a --id-dir id_site_b")?.succeeded()?;
    let [a, b] = both(&place, 1, [line(0, patient), line(1, "")])?;
    a.failed_with(7)?;
    b.failed_with(7)?.says("no key is trusted for site_a")?;
    Ok(())
}

#[test]
fn a_missing_peer_is_reported_by_name() -> Result {
    let place = sites(5)?;
    for site in [0, 1] {
        let done = place.run(&line(site, "--timeout 2"))?.failed_with(4)?;
        let done = done.says(SITES[1 - site])?.says("within 2 s")?;
        assert!(done.stderr.contains("waiting for"), "{}", done.stderr);
    }
    Ok(())
}

#[test]
fn an_occupied_port_is_named() -> Result {
    let place = sites(5)?;
    let text = place.read("cluster.toml")?;
    let port = text.split("127.0.0.1:").nth(1).and_then(|rest| rest.split('"').next());
    let _listener = std::net::TcpListener::bind(format!("127.0.0.1:{}", port.ok_or("a port")?))?;
    place.run(&line(0, "--timeout 2"))?.failed_with(1)?.says("is in use")?;
    Ok(())
}

#[test]
fn garbage_from_a_peer_ends_nothing_but_the_wait() -> Result {
    use std::io::Write;
    let place = sites(5)?;
    let text = place.read("cluster.toml")?;
    let port = text.split("127.0.0.1:").nth(1).and_then(|rest| rest.split('"').next());
    let address = format!("127.0.0.1:{}", port.ok_or("a port")?);
    let child = place.start(&line(0, "--timeout 4"))?;
    for _ in 0..3 {
        std::thread::sleep(Duration::from_millis(500));
        if let Ok(mut stream) = std::net::TcpStream::connect(&address) {
            let _ = stream.write_all(&[0xA5; 4096]);
        }
    }
    wait(child, PATIENCE)?.failed_with(4)?;
    Ok(())
}

/// Such a run said that nothing was sent, also after numbers of rows had been exchanged.
#[test]
fn a_limit_too_small_says_what_was_sent() -> Result {
    let place = sites(50)?;
    // Too little for anything is known without the other.
    let alone = place.run(&line(0, "--memory 16MiB --timeout 600"))?;
    alone.failed_with(6)?.says("nothing fits into 16.0 MiB")?.says("nothing was sent")?;
    let [a, b] = both(&place, 0, [line(0, "--memory 28MiB"), line(1, "")])?;
    let told = "nothing was revealed but what parties tell each other first: program, options, \
                numbers of rows";
    a.failed_with(6)?.says("it needs at least")?.says(told)?;
    b.failed_with(4)?.says("site_a brings 50 rows")?.says(told)?;
    Ok(())
}

#[test]
fn bad_input_at_one_party_ends_both() -> Result {
    let place = sites(50)?;
    place.write("b.csv", "user,password_hash\nx,1\nx,2\n")?;
    let [a, b] = both(&place, 0, [line(0, ""), line(1, "")])?;
    a.failed_with(4)?.says("site_b stopped")?;
    b.failed_with(8)?.says("b.csv:3: the same user as in line 2")?;
    assert!(!place.file("result_a.csv").exists() && !place.file("result_b.csv").exists());
    Ok(())
}

/// Kills one party at a random moment; the other ends soon, says so, and leaves nothing behind.
#[test]
fn a_killed_peer_is_reported_whenever_it_happens() -> Result {
    let place = sites(6000)?;
    let mut seed = u64::from(std::process::id());
    println!("seed {seed}");
    for round in 0..20 {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let pause = Duration::from_millis((seed >> 33) % 900);
        let victim = (seed >> 20) as usize % 2;
        let lines = [line(0, "--memory 32MiB"), line(1, "--memory 32MiB")];
        let mut survivor = place.start(&lines[1 - victim])?;
        let mut killed = place.start(&lines[victim])?;
        std::thread::sleep(pause);
        killed.kill()?;
        killed.wait()?;
        let letter = ["a", "b"][1 - victim];
        let result = place.file(&format!("result_{letter}.csv"));
        // Killed before it connected, the other waits for a minute: another one comes instead.
        let is_over = ends_within(&mut survivor, Duration::from_secs(2))?;
        let again = if is_over { None } else { Some(place.start(&lines[victim])?) };
        let done = wait(survivor, PATIENCE)?;
        if let Some(again) = again {
            wait(again, PATIENCE)?;
        }
        let context = format!("round {round}, {victim} killed after {pause:?}: {}", done.stderr);
        match done.code {
            Some(0) => assert_eq!(std::fs::read_to_string(&result)?, "reused_passwords\n300\n"),
            Some(4) => {
                assert!(done.stderr.contains(SITES[victim]), "{context}");
                assert!(done.stderr.contains("revealed"), "{context}");
                assert!(!result.exists(), "{context}");
            }
            _ => return Err(context.into()),
        }
        assert!(!done.stderr.contains("bug in Phineus"), "{context}");
        let left: Vec<String> =
            place.files()?.into_iter().filter(|name| name.contains("partial")).collect();
        // Who is killed while it writes a file leaves it under a name that nobody takes for a result.
        assert!(left.len() <= 1, "{left:?} {context}");
        for name in left {
            assert!(name.starts_with(".phineus-") && name.ends_with(".partial"), "{name}");
            std::fs::remove_file(place.file(&name))?;
        }
        let _ = std::fs::remove_file(place.file("result_a.csv"));
        let _ = std::fs::remove_file(place.file("result_b.csv"));
    }
    Ok(())
}

#[cfg(unix)]
#[test]
fn control_c_ends_both_soon() -> Result {
    let place = sites(6000)?;
    for pause_ms in [50, 300, 700] {
        let a = place.start(&line(0, ""))?;
        let b = place.start(&line(1, ""))?;
        std::thread::sleep(Duration::from_millis(pause_ms));
        let id = libc::pid_t::try_from(a.id())?;
        // SAFETY: signals a child that was not waited for.
        unsafe { libc::kill(id, libc::SIGINT) };
        let done = wait(a, Duration::from_secs(20))?;
        // It may have finished in time.
        assert!(matches!(done.code, Some(130 | 0)), "{:?} {}", done.code, done.stderr);
        let interrupted = done.code == Some(130);
        if interrupted {
            // Whoever waits for a party that never came would wait for a minute.
            // SAFETY: as above.
            unsafe { libc::kill(libc::pid_t::try_from(b.id())?, libc::SIGINT) };
        }
        let b = wait(b, Duration::from_secs(20))?;
        assert!(matches!(b.code, Some(130 | 4 | 0)), "{:?} {}", b.code, b.stderr);
        assert!(!interrupted || !place.file("result_a.csv").exists());
        let _ = std::fs::remove_file(place.file("result_a.csv"));
        let _ = std::fs::remove_file(place.file("result_b.csv"));
    }
    Ok(())
}

/// A plan knows no network. One that fills the memory of a party is run with the usual windows where latency
/// asks for longer ones, by all parties, whatever memory the others have.
#[test]
fn a_plan_that_leaves_no_room_for_longer_windows_is_run_with_the_usual_ones() -> Result {
    let place = Place::new()?;
    place.two_parties(SITES)?;
    place.run("data aes128 --param n=20 --out-dir .")?.succeeded()?;
    let plan = "plan aes128 --param n=20 --protocol bmr --memory 256MiB --out aes.plan";
    place.run(plan)?.succeeded()?;
    let run = "run aes.plan --protocol bmr --simulate rtt=20ms";
    let small = format!("{run} --local --in key.csv --in blocks.csv --memory 64MiB");
    let refused = place.run(&small)?.failed_with(6)?;
    let needed = refused.stderr.split("it needs at least ").nth(1).ok_or("what is needed")?;
    let mib: f64 = needed.split(' ').next().ok_or("a number")?.parse()?;
    // More than that differs from run to run, and less than longer windows take.
    let limits = [mib as u64 + 1, 512];
    let sites = SITES.iter().zip(["key", "blocks"]).zip(limits);
    let lines = sites.map(|((name, file), limit)| {
        format!("{run} --as {name} --id-dir id_{name} --in {file}.csv --memory {limit}MiB")
    });
    let lines: Vec<String> = lines.collect();
    let [one, two] = &lines[..] else { panic!("two parties") };
    for done in both(&place, 0, [one.clone(), two.clone()])? {
        done.succeeded()?;
    }
    Ok(())
}
