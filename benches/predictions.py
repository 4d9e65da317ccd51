#!/usr/bin/env python3
"""Predicted beside measured times of whole runs, from the start of the parties' processes to their end.

    predictions.py [PROGRAM ...]        all programs, or those named

Takes the executable from $PHINEUS_TARGET (target/release), runs each line $REPEATS times (5) and prints a table in Markdown. Each party is a
process of its own, started at the same moment, over TLS; a network with latency is the simulated one, which holds messages and new
connections back. "ratio" is predicted over measured, of the whole and of what a report calls running (the rest is the start: process,
connections, agreement, planning). Outside 0.83 to 1.2 a ratio is marked. $PROTOCOLS and $NETWORKS, with blanks between, take the place of all.
"""
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TARGET = os.path.abspath(os.environ.get("PHINEUS_TARGET", os.path.join(HERE, "../target/release")))
PHINEUS = os.path.join(TARGET, "phineus")
REPEATS = int(os.environ.get("REPEATS", "5"))
PROTOCOLS = os.environ.get("PROTOCOLS", "garbled gmw bmr arith mixed spdz").split()
# Loopback, and 40 ms.
NETWORKS = os.environ.get("NETWORKS", "none rtt=40ms").split()

# Tiny programs, where the start dominates, and programs of many rounds: parameters, and protocols that are left out.
PROGRAMS = {
    "millionaires": ([], []),
    # They compute on bits, which spdz does at 64 triples each.
    "aes128": (["n=1"], ["spdz"]),
    "sha256": (["n=1"], ["spdz"]),
    "intops": (["op=div", "lanes=10"], []),
    "biometric": (["n=16"], []),
    # Under spdz it takes half a minute.
    "sort": (["n=64"], ["spdz"]),
}


def phineus(place, *arguments):
    """What the command prints; None if the program is refused under that protocol."""
    done = subprocess.run([PHINEUS, *arguments], cwd=place, capture_output=True, text=True)
    if done.returncode == 5:
        return None
    if done.returncode != 0:
        sys.exit(f"phineus {' '.join(arguments)} ended with {done.returncode}:\n{done.stderr[-800:]}")
    return done.stdout


def prepare(place, names):
    """Keys of all parties, each trusting the others, and a cluster at free ports."""
    keys = {name: phineus(place, "id", "init", name, "--dir", f"id_{name}").split()[-1] for name in names}
    for name in names:
        for peer in names:
            if peer != name:
                phineus(place, "id", "trust", peer, keys[peer], "--dir", f"id_{name}")
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in names]
    with open(os.path.join(place, "cluster.toml"), "w") as cluster:
        for name, listener in zip(names, sockets):
            port = listener.getsockname()[1]
            cluster.write(f'[[party]]\nname = "{name}"\naddress = "127.0.0.1:{port}"\n')
    for listener in sockets:
        listener.close()


def measured(place, names, arguments, inputs, network):
    """Seconds from the start of the processes to the end of the last, and the reports of all."""
    simulated = [] if network == "none" else ["--simulate", network]
    commands = []
    for name in names:
        own = [word for port, (party, file) in inputs.items() if party == name for word in ("--in", f"{port}={file}")]
        commands.append([
            PHINEUS, "run", *arguments, *simulated, *own, "--as", name, "--id-dir", f"id_{name}", "--report", f"{name}.json",
            "--out", f"{name}.out",
        ])
    for name in names:
        if os.path.exists(os.path.join(place, f"{name}.out")):
            os.remove(os.path.join(place, f"{name}.out"))
    start = time.monotonic()
    # Without closing files a process starts in a millisecond less.
    processes = [subprocess.Popen(command, cwd=place, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, close_fds=False)
                 for command in commands]
    said = [process.communicate()[1] for process in processes]
    seconds = time.monotonic() - start
    for process, text in zip(processes, said):
        if process.returncode != 0:
            sys.exit(f"{' '.join(process.args)} ended with {process.returncode}:\n{text.decode()[-800:]}")
    reports = [json.load(open(os.path.join(place, f"{name}.json"))) for name in names]
    return seconds, reports


def shown(ratio):
    return f"{ratio:.2f}" if 1 / 1.2 <= ratio <= 1.2 else f"**{ratio:.2f}**"


def ms(seconds):
    return f"{seconds * 1e3:.0f} ms"


def measure(program, parameters, protocol, network):
    """One line of the table; returns the ratio."""
    typed = [program] + [word for setting in parameters for word in ("--param", setting)]
    with tempfile.TemporaryDirectory() as place:
        phineus(place, "data", *typed)
        stated = [] if network == "none" else ["--net", network]
        text = phineus(place, "explain", *typed, "--protocol", protocol, *stated, "--json")
        if text is None:
            return None
        explained = json.loads(text)
        names = explained["parties"]
        inputs = {port["name"]: (names[port["party"]], f"{port['name']}.csv") for port in explained["inputs"]}
        prepare(place, names)
        arguments = [*typed, "--protocol", protocol]
        # Once for the caches.
        measured(place, names, arguments, inputs, network)
        runs = [measured(place, names, arguments, inputs, network) for _ in range(REPEATS)]
    wall = [seconds for seconds, _ in runs]
    running = [max(report["seconds"]["running"] for report in reports) for _, reports in runs]
    predicted = explained["seconds"]
    ratio = predicted["total"] / statistics.median(wall)
    part = (predicted["total"] - predicted["start"]) / statistics.median(running)
    started = statistics.median(whole - part for whole, part in zip(wall, running))
    print(f"| `{' '.join([program] + parameters)}` | {protocol} | {'loopback' if network == 'none' else network} | {ms(predicted['total'])} | "
          f"{ms(statistics.median(wall))} ({ms(min(wall))} to {ms(max(wall))}) | {shown(ratio)} | {ms(predicted['start'])}, {ms(started)} | "
          f"{ms(predicted['total'] - predicted['start'])}, {ms(statistics.median(running))} | {shown(part)} |", flush=True)
    return ratio


def main():
    wanted = sys.argv[1:] or list(PROGRAMS)
    print("| program | protocol | network | predicted | measured | ratio | start: predicted, measured | running: predicted, measured | ratio |")
    print("|---|---|---|---|---|---|---|---|---|")
    ratios = []
    for program in wanted:
        parameters, refused = PROGRAMS[program]
        for protocol in [one for one in PROTOCOLS if one not in refused]:
            ratios += [measure(program, parameters, protocol, network) for network in NETWORKS]
    ratios = [ratio for ratio in ratios if ratio is not None]
    near = sum(1 / 1.2 <= ratio <= 1.2 for ratio in ratios)
    print(f"\n{near} of {len(ratios)} within 20 %; load average at the end {os.getloadavg()[0]:.1f}; {REPEATS} runs of each")


if __name__ == "__main__":
    main()
