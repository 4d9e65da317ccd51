#!/usr/bin/env python3
"""Phineus beside other systems: the same machine, the same minutes, in turn.

    beside.py emp    EMP_OPERATIONS CIRCUITS   operations of garbled circuits
    beside.py mage   MAGE/bin                  MAGE's five kernels, two processes
    beside.py motion MOTION/build/bin          AES, SHA-256 and integer operations on shares
    beside.py operations MOTION_OPERATIONS     single operations on shares, a process each
    beside.py spdz   MP-SPDZ                   the private linear layer
    beside.py figures MP-SPDZ [SIZE]           the same by threads and slices, and where its time goes
    beside.py parties MP-SPDZ [SIZE [MOST]]    the same with two parties and more
    beside.py mascot MP-SPDZ                   triples and biometric matching, preprocessing made in the run
    beside.py replicated MP-SPDZ [ONLY]        three parties with an honest majority: AES, comparisons, biometric, matrices
    beside.py ack ACK/build/tests [CSV]        memory at secret indices; CSV is for `phineus bench oram --beside CSV`

Builds of Phineus are taken from $PHINEUS_TARGET (target/release). Prints a table in Markdown: medians, with the best in
brackets. README.md beside this file names each system with its version.
"""
import json
import math
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TARGET = os.path.abspath(os.environ.get("PHINEUS_TARGET", os.path.join(HERE, "../../target/release")))
REPEATS = int(os.environ.get("REPEATS", "3"))


def run(command, **options):
    """The output of a command; says what failed."""
    done = subprocess.run(command, capture_output=True, text=True, **options)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout[-800:]}{done.stderr[-800:]}")
    return done.stdout


def parties(commands, head_start=0.0, limit=None, **options):
    """Runs one process a party at once; their outputs, and the processor seconds of all. Those that are not done after
    `limit` seconds are ended, and what they have said by then counts."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    processes = []
    for command in commands:
        processes.append(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options))
        time.sleep(head_start)
    end, outputs = limit and time.monotonic() + limit, []
    for process in processes:
        try:
            outputs.append(process.communicate(timeout=limit and max(end - time.monotonic(), 0.1))[0])
        except subprocess.TimeoutExpired:
            process.kill()
            outputs.append(process.communicate()[0])
    is_late = limit and time.monotonic() > end
    for process, output in zip(processes, outputs):
        if process.returncode != 0 and not is_late:
            sys.exit(f"{process.args} ended with {process.returncode}:\n{output[-1500:]}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return outputs, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def show(values, form="{:.2f}", best=min):
    return f"{form.format(statistics.median(values))} ({form.format(best(values))})"


def table(head, rows):
    print("| " + " | ".join(head) + " |")
    print("|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |")
    print(f"\nload average at the end: {os.getloadavg()[0]:.1f}; {REPEATS} repetitions in turn", flush=True)


def emp(program, circuits, millions="16"):
    """M AND/s of the wall, and processor ns per AND of both parties, per operation."""
    names = {
        "add": "add, 1 lane", "mux": "mux, 1 lane", "mul": "mul, 1 lane", "lt": "lt, 128 lanes",
        "cond_swap": "cond_swap, 32 lanes", "sort": "cond_swap, 32 lanes", "aes128": "aes128, 32 lanes",
        "sha256": "sha256, 16 lanes",
    }
    peer, ours = {}, {"tcp": {}, "tls": {}}
    for repeat in range(REPEATS):
        for transport in ours:
            text = run([f"{TARGET}/examples/garbled_speed", millions, transport])
            for line in text.splitlines()[1:]:
                name, best, median, cpu = line[:24].strip(), *map(float, line[24:].split())
                ours[transport].setdefault(name, []).append((median, cpu))
        port = str(12500 + repeat)
        outputs, _ = parties([[program, party, port, millions, circuits] for party in "12"])
        for lines in zip(*([l for l in o.splitlines() if l.count("\t") == 3] for o in outputs)):
            name, gates, wall, cpu = lines[0].split("\t")
            both = float(cpu) + float(lines[1].split("\t")[3])
            peer.setdefault(name, []).append((int(gates) / float(wall) / 1e6, both * 1e9 / int(gates)))
    rows = []
    for name, mine in names.items():
        walls = {t: statistics.median(v[0] for v in ours[t][mine]) for t in ours}
        cpus = {t: min(v[1] for v in ours[t][mine]) for t in ours}
        theirs = statistics.median(v[0] for v in peer[name]), min(v[1] for v in peer[name])
        rows.append([name, mine, f"{theirs[0]:.1f}", f"{walls['tcp']:.1f}", f"{walls['tls']:.1f}", f"{theirs[1]:.0f}",
                     f"{cpus['tcp']:.1f}", f"{cpus['tls']:.1f}", f"**{theirs[1] / cpus['tcp']:.1f}**",
                     f"**{walls['tcp'] / theirs[0]:.1f}**", f"{walls['tcp'] / walls['tls']:.2f}"])
    table(["emp", "Phineus", "emp M AND/s", "TCP", "TLS", "emp CPU ns", "TCP CPU ns", "TLS CPU ns",
           "CPU, emp / TCP", "wall, TCP / emp", "TCP / TLS"], rows)


KERNELS = {  # ours: MAGE's name, the size
    "merge": ("merge_sorted", 16384), "sort": ("full_sort", 4096), "ljoin": ("loop_join", 256),
    "mvmul": ("matrix_vector_multiply", 512), "binfclayer": ("binary_fc_layer", 2048),
}
MAGE_WORKER = """      - internal_host: localhost
        internal_port: {0}
        external_host: localhost
        external_port: {1}
        storage_path: {2}.swap
        oblivious_transfer: {{max_batch_size: 8192, pipeline_depth: 4, num_daemons: 1}}
{3}"""
MAGE_PAGES = "        page_shift: 12\n        num_pages: 65536\n        prefetch_buffer_size: 256\n        prefetch_lookahead: 10000\n"


def phineus_inputs(folder, name, size):
    run([f"{TARGET}/phineus", "data", name, "--param", f"n={size}", "--out-dir", folder])
    files = [f for f in sorted(os.listdir(folder)) if f.endswith(".csv")]
    return [word for f in files for word in ("--in", f"{f[:-4]}={os.path.join(folder, f)}")]


def phineus_run(arguments, folder):
    """The seconds from the agreement on of the slower party, and the whole report."""
    report = os.path.join(folder, "report.json")
    run([f"{TARGET}/phineus", "run", *arguments, "--report", report, "--out", os.path.join(folder, "out.csv")])
    with open(report) as file:
        parsed = json.load(file)
    return max(party["seconds"]["running"] for party in parsed["parties"]), parsed


def mage_config(folder, port):
    config = os.path.join(folder, "config.yaml")
    with open(config, "w") as file:
        file.write(MAGE_PAGES.replace("        ", "") + "parties:\n")
        for index, party in enumerate(["garbler", "evaluator"]):
            file.write(f"  - name: {party}\n    workers:\n")
            file.write(MAGE_WORKER.format(port + index, port + 10 + index, os.path.join(folder, party), MAGE_PAGES))
    return config


def mage(binaries):
    """Seconds of a run, without planning; MAGE is given 65,536 pages of 64 KiB, a swap file it does not need."""
    # Other ports each time: one that was just used is not to be had for a while.
    rows, port = [], 20000 + os.getpid() % 1000 * 20
    for name, (theirs, size) in KERNELS.items():
        with tempfile.TemporaryDirectory() as folder:
            config = mage_config(folder, port)
            run([f"{binaries}/planner", theirs, "halfgates", config, "garbler", "0", str(size)], cwd=folder)
            run([f"{binaries}/example_input", theirs, str(size), "1"], cwd=folder)
            inputs = phineus_inputs(folder, name, size)
            times = {"mage": [], "tcp": [], "tls": []}
            for _ in range(REPEATS):
                port += 20
                mage_config(folder, port)
                program = f"{theirs}_{size}"
                outputs, _ = parties([[f"{binaries}/mage", "halfgates", config, party, "0", program]
                                      for party in ("evaluator", "garbler")], head_start=1.0, cwd=folder)
                times["mage"].append(max(mage_seconds(output) for output in outputs))
                for transport, extra in (("tcp", ["--plain"]), ("tls", [])):
                    arguments = [name, "--local", "--param", f"n={size}", "--param", "to=site_a", "--memory", "8GiB"]
                    times[transport].append(phineus_run(arguments + inputs + extra, folder)[0])
        middle = {key: statistics.median(value) for key, value in times.items()}
        rows.append([f"{name} {size}", *(show(times[key]) for key in times), f"**{middle['mage'] / middle['tcp']:.1f}**",
                     f"{middle['mage'] / middle['tls']:.1f}", f"{middle['tls'] / middle['tcp']:.2f}"])
    table(["kernel", "MAGE, s", "TCP, s", "TLS, s", "MAGE / TCP", "MAGE / TLS", "TLS / TCP"], rows)


def mage_seconds(output):
    """What MAGE prints of a run when it ends: a line of milliseconds."""
    return float(re.findall(r"^(\d+) ms$", output, re.MULTILINE)[-1]) / 1000


LINES = "/usr/libexec/coreutils/libstdbuf.so"


def motion_run(command, ids, extra_environment, limit=60, port=23000):
    """Milliseconds, MiB sent to each party and the largest resident memory, per experiment."""
    ports = [f"{party},127.0.0.1,{port + party}" for party in ids]
    commands = [[*command, "--my-id", str(party), "--parties", *ports, "--disable-logging"] for party in ids]
    # Said line by line, since some of its benchmarks stop for ever.
    environment = {**os.environ, "_STDBUF_O": "L", **extra_environment}
    environment["LD_PRELOAD"] = ":".join(filter(None, [extra_environment.get("LD_PRELOAD"), LINES]))
    # It writes a folder of logs, whatever it is told.
    with tempfile.TemporaryDirectory() as folder:
        outputs, _ = parties(commands, limit=limit, env=environment, cwd=folder)
    found = {}
    for experiment in re.split(r"={70,}\n(?=(?:Protocol|AES|SHA))", outputs[0])[1:]:
        total = re.search(r"Circuit Evaluation\s+([\d.]+)", experiment)
        sent = re.search(r"Sent: ([\d.]+) MiB", experiment)
        if not sent:
            continue
        found[experiment.splitlines()[0]] = float(total.group(1)), float(sent.group(1))
    return found


def intops(operation, width, sharing):
    return ["intops", "--param", f"op={operation}", "--param", f"width={width}", *sharing]


GMW, BMR = ["--protocol", "gmw"], ["--protocol", "bmr"]
ARITHMETIC = ["--protocol", "mixed", "--param", "sharing=arith"]
MOTION = [  # MOTION's program and its arguments, whether also without the shim, parties; its experiment: what we run
    (["aes128", "--num-simd", "1", "--protocol", "GMW"], True, 2, {"AES128 with 1 SIMD values in GMW": ["aes128", "--param", "n=1", *GMW]}),
    (["aes128", "--num-simd", "1000", "--protocol", "GMW"], True, 2, {"AES128 with 1000 SIMD values in GMW": ["aes128", "--param", "n=1000", *GMW]}),
    (["aes128", "--num-simd", "100", "--protocol", "BMR"], True, 2, {"AES128 with 100 SIMD values in BMR": ["aes128", "--param", "n=100", *BMR]}),
    (["aes128", "--num-simd", "100", "--protocol", "BMR"], False, 3, {"AES128 with 100 SIMD values in BMR": ["aes128", "--param", "n=100", "--param", "parties=3", *BMR]}),
    (["sha256", "--num-simd", "1", "--protocol", "GMW"], False, 2, {"SHA256 with 1 SIMD values in GMW": ["sha256", "--param", "n=1", *GMW]}),
    (["benchmark_integers"], False, 2, {
        f"Protocol {sharing} operation INT_{operation.upper()} bit size {width} SIMD 1000": intops(operation, width, ours)
        for operation in ("eq", "add", "sub", "mul", "div", "gt") for width in (8, 16, 32, 64)
        for sharing, ours in (("BooleanGMW", GMW), ("BMR", BMR))}),
    (["benchmark_primitive_operations"], False, 2, {
        f"Protocol ArithmeticGMW operation MUL bit size {width} SIMD 1000": intops("mul", width, ARITHMETIC) for width in (8, 16, 32, 64)}),
]


def on_shares(arguments, count):
    """Milliseconds of a run of ours, and MiB that the first party sends to each other."""
    with tempfile.TemporaryDirectory() as folder:
        settings = [word for pair in zip(arguments, arguments[1:]) if pair[0] == "--param" for word in pair]
        run([f"{TARGET}/phineus", "data", arguments[0], *settings, "--out-dir", folder])
        inputs = [word for file in sorted(os.listdir(folder)) for word in ("--in", f"{file[:-4]}={folder}/{file}")]
        seconds, report = phineus_run([*arguments, "--local", "--memory", "1GiB", *inputs], folder)
        return seconds * 1000, report["parties"][0]["measured"]["sent_bytes"] / (count - 1) / 2**20


def motion(binaries):
    """Milliseconds from the agreement on to the end, set-up and preprocessing included, of both."""
    shim = {"LD_PRELOAD": os.path.join(HERE, "nodelay.so")}
    rows = []
    for command, also_plain, count, experiments in MOTION:
        times = {name: ([], [], []) for name in experiments}
        sent = {}
        for _ in range(REPEATS):
            program = [os.path.abspath(os.path.join(binaries, command[0])), *command[1:]]
            for column, environment in ((0, {}), (1, shim)) if also_plain else ((1, shim),):
                for name, (total, mebibytes) in motion_run(program, range(count), environment).items():
                    if name in times:
                        times[name][column].append(total)
                        sent[name] = mebibytes
            for name, ours in experiments.items():
                if times[name][1]:
                    milliseconds, sent[name, "ours"] = on_shares(ours, count)
                    times[name][2].append(milliseconds)
        for name, (plain, no_delay, ours) in times.items():
            if not no_delay:
                continue
            default = show(plain, "{:.0f}") if plain else "-"
            rows.append([f"{name}, {count} parties", default, show(no_delay, "{:.0f}"), show(ours, "{:.0f}"),
                         f"{sent[name]:.2f}", f"{sent[name, 'ours']:.2f}",
                         f"**{statistics.median(no_delay) / statistics.median(ours):.1f}**"])
    table(["MOTION's experiment", "MOTION, ms", "with TCP_NODELAY, ms", "Phineus, ms", "MOTION, MiB to each",
           "Phineus, MiB to each", "ratio to TCP_NODELAY"], rows)


SHARINGS = {"BooleanGMW": GMW, "BMR": BMR, "ArithmeticGMW": ARITHMETIC}
CONVERSIONS = [("B2A", "BooleanGMW"), ("Y2A", "BMR"), ("A2B", "ArithmeticGMW"), ("A2Y", "ArithmeticGMW")]
OPERATIONS = [  # parties, operation, MOTION's protocol of the inputs, bits
    *((2, operation, protocol, width) for operation in ("EQ", "ADD", "SUB", "MUL", "DIV", "GT")
      for protocol in ("BooleanGMW", "BMR") for width in (8, 16, 32, 64)),
    *((3, operation, protocol, width) for operation in ("EQ", "ADD", "SUB", "MUL", "DIV", "GT")
      for protocol in ("BooleanGMW", "BMR") for width in (32, 64)),
    *((count, operation, protocol, width) for count in (2, 3)
      for operation, protocol in [("MUL", "ArithmeticGMW"), *CONVERSIONS] for width in (32, 64)),
]
TRIES, TRY_SECONDS = 3, 30


def operations(program, only=""):
    """Milliseconds as `motion`, one operation on 1000 lanes a process; those whose line has the words of `only`. MOTION
    stops for ever now and then: it is ended after half a minute and tried again, and how often is said."""
    shim, port = {"LD_PRELOAD": os.path.join(HERE, "nodelay.so")}, 23000
    rows = []
    for count, operation, protocol, width in OPERATIONS:
        name = f"{operation} of {width} bits in {protocol}, {count} parties"
        if not all(word in name.split() for word in only.split()):
            continue
        conversion = (operation, protocol) in CONVERSIONS
        ours = intops(operation.lower(), width, ["--protocol", "mixed"] if conversion else SHARINGS[protocol])
        ours += ["--param", f"parties={count}"]
        theirs, mine, lost = [], [], 0
        for _ in range(REPEATS):
            for _ in range(TRIES):
                port = 23000 + (port - 23000 + 10) % 2000
                found = operation_run([os.path.abspath(program), protocol, operation, str(width), "1000"], count, shim, port)
                if found:
                    theirs.append(found)
                    break
                lost += 1
            mine.append(on_shares(ours, count))
        times = [milliseconds for milliseconds, _ in mine]
        row = [name, show(times, "{:.0f}"), lost, "-", "-", f"{mine[0][1]:.2f}", "-"]
        if theirs:
            totals = [total for total, _ in theirs]
            row[3], row[4] = show(totals, "{:.0f}"), f"{theirs[0][1]:.2f}"
            row[6] = f"**{statistics.median(totals) / statistics.median(times):.1f}**"
        rows.append([row[0], row[3], row[1], row[4], row[5], row[6], row[2]])
    table(["operation on 1000 lanes", "MOTION with TCP_NODELAY, ms", "Phineus, ms", "MOTION, MiB to each",
           "Phineus, MiB to each", "ratio", "MOTION's runs that stopped"], rows)


def operation_run(command, count, environment, port):
    """What `motion_run` found, if the run came to its end."""
    try:
        found = motion_run(command, range(count), environment, limit=TRY_SECONDS, port=port)
    except SystemExit:
        return None
    return next(iter(found.values()), None)


LAYERS = [1024, 2048, 4096, 8192]


def mp_spdz(folder, program, options, count, port):
    """What the first party prints."""
    common = ["./mascot-party.x", *options, "-N", str(count), "-h", "localhost", "-pn", str(port), program]
    return parties([[*common, "-p", str(party)] for party in range(count)], cwd=folder)[0][0]


def layer_program(folder, size, threads):
    """Seconds that MP-SPDZ takes to compile its layer."""
    with open(os.path.join(folder, "Programs/Source/linear.mpc"), "w") as file, open(os.path.join(HERE, "linear.mpc")) as ours:
        file.write(ours.read())
    begin = time.monotonic()
    run(["./compile.py", "-P", "4294967291", "linear", str(size), str(threads)], cwd=folder)
    return time.monotonic() - begin


def layer_inputs(size, folder):
    """Inputs of our layer, as `--in` takes them."""
    run([f"{TARGET}/phineus", "data", "linear-layer", "--param", f"n={size}", "--out-dir", folder])
    return [word for f in sorted(os.listdir(folder)) if f.endswith(".csv") for word in ("--in", f"{f[:-4]}={folder}/{f}")]


def layer_ours(size, inputs, folder, options=()):
    """Seconds without and with the sharing of inputs, and the report of a run of two parties."""
    arguments = ["linear-layer", "--local", "--protocol", "spdz-32", "--fake-preprocessing", "--memory", "1GiB"]
    whole, report = phineus_run([*arguments, "--param", f"n={size}", *inputs, *options], folder)
    doing = [party["phases"]["activities"] for party in report["parties"]]
    return max(one["computing"] + one["checking"] for one in doing), whole, report


def layer_theirs(folder, size, threads, count, port):
    """Seconds without the sharing of inputs, megabytes and rounds, and seconds of all."""
    text = mp_spdz(folder, f"linear-{size}-{threads}", ["-F", "-S", "20"], count, port)
    seconds, sent, rounds = re.search(r"Time1 = ([\d.]+) seconds \(([\d.]+) MB, (\d+)", text).groups()
    return float(seconds), sent, rounds, float(re.search(r"^Time = ([\d.]+)", text, re.MULTILINE).group(1))


def made_up(folder, count, items=1_000_000):
    """Made-up material for so many parties; its files are read again from the start when they end."""
    run(["./Fake-Offline.x", str(count), "-P", "4294967291", "-d", str(items)], cwd=folder)


def spdz(folder):
    """Seconds of a private linear layer without the sharing of its inputs, p = 2^32 - 5, preprocessing made up."""
    rows = []
    made_up(folder, 2)
    for size in LAYERS:
        layer_program(folder, size, 1)
        times, sent = {"theirs": [], "ours": [], "whole": []}, {}
        with tempfile.TemporaryDirectory() as files:
            inputs = layer_inputs(size, files)
            for repeat in range(REPEATS):
                seconds, sent["theirs"], rounds, _ = layer_theirs(folder, size, 1, 2, 14000 + 10 * repeat)
                times["theirs"].append(seconds)
                ours, whole, report = layer_ours(size, inputs, files)
                times["whole"].append(whole)
                times["ours"].append(ours)
                measured = [party["measured"] for party in report["parties"]]
                sent["ours"] = max(one["sent_bytes"] for one in measured) / 1e6
                ours_rounds = measured[0]["rounds"]
        rows.append([f"layer of {size}, 2^32-5, 2 parties", show(times["theirs"]), show(times["ours"]), show(times["whole"]),
                     f"{sent['theirs']} MB, {rounds}", f"{sent['ours']:.0f} MB, {ours_rounds}",
                     f"**{statistics.median(times['theirs']) / statistics.median(times['ours']):.1f}**"])
    table(["what", "MP-SPDZ, s", "Phineus, s", "inputs included, s", "MP-SPDZ sent, rounds", "Phineus sent with inputs, rounds",
           "ratio"], rows)


LAYER_IN_C = """#include <phineus.h>
PH_SIZE(N, 1024)
PH_MAIN void layer(PH_IN(a) const uint8_t W[N][N], PH_IN(b) const uint8_t x[N], PH_OUT(EVERYBODY) uint32_t y[N])
{
    for (int i = 0; i < N; i++) {
        uint32_t sum = 0;
        for (int j = 0; j < N; j++)
            sum += (uint32_t)W[i][j] * x[j];
        y[i] = sum;
    }
}
"""


def figures(folder, size="4096"):
    """The paper's questions about the layer: threads, slices and where time goes (sizes are `spdz`)."""
    size, port = int(size), 14500
    with tempfile.TemporaryDirectory() as files:
        inputs = layer_inputs(size, files)
        compiling = {threads: layer_program(folder, size, threads) for threads in (1, 2)}
        made_up(folder, 2)
        rows = []
        for threads in (1, 2):
            theirs, ours, whole = [], [], []
            for _ in range(REPEATS):
                port += 10
                theirs.append(layer_theirs(folder, size, threads, 2, port)[0])
                found = layer_ours(size, inputs, files, ["--threads", str(threads)])
                ours.append(found[0])
                whole.append(found[1])
            rows.append([str(threads), show(theirs), show(ours), show(whole),
                         f"**{statistics.median(theirs) / statistics.median(ours):.1f}**"])
        table(["threads of a party", "MP-SPDZ, s", "Phineus, s", "inputs included, s", "ratio"], rows)
        rows = []
        for slice_bytes in ("auto", "512KiB", "2MiB", "8MiB", "32MiB"):
            options = [] if slice_bytes == "auto" else ["--slice", slice_bytes]
            found = [layer_ours(size, inputs, files, options) for _ in range(REPEATS)]
            rounds = found[0][2]["parties"][0]["measured"]["rounds"]
            rows.append([slice_bytes, show([one[0] for one in found]), show([one[1] for one in found]), str(rounds)])
        table(["slice", "Phineus, s", "inputs included, s", "rounds"], rows)
        found = [layer_ours(size, inputs, files) for _ in range(REPEATS)]
        seconds = [max((party["seconds"] for party in one[2]["parties"]), key=lambda s: s["running"]) for one in found]
        all_theirs = []
        for repeat in range(REPEATS):
            port += 10
            all_theirs.append(layer_theirs(folder, size, 1, 2, port))
        online = [one[0] for one in all_theirs]
        rest = [one[3] - one[0] for one in all_theirs]
        rows = [["MP-SPDZ", show([compiling[1]]), show(rest), show(online)],
                ["Phineus", show([one["planning"] for one in seconds]),
                 show([one[1] - one[0] for one in found]), show([one[0] for one in found])]]
        table(["of 2 parties, 1 thread", "compiling, planning, s", "sharing inputs and the rest, s", "layer, s"], rows)


def by_parties(folder, size="2048", most="6"):
    """Seconds of the layer with two parties and more."""
    size, port, rows = int(size), 14900, []
    layer_program(folder, size, 1)
    for count in range(2, int(most) + 1):
        made_up(folder, count, 100_000)
        names = [chr(ord("a") + party) for party in range(count)]
        with tempfile.TemporaryDirectory() as files:
            source = os.path.join(files, "layer.c")
            with open(source, "w") as file:
                file.write(LAYER_IN_C.replace("EVERYBODY", ", ".join(names)))
            given = ["--param", f"N={size}"]
            run([f"{TARGET}/phineus", "data", source, *given, "--out-dir", files])
            inputs = ["--in", f"W={files}/W.csv", "--in", f"x={files}/x.csv"]
            theirs, ours, whole = [], [], []
            for _ in range(REPEATS):
                port += 10
                theirs.append(layer_theirs(folder, size, 1, count, port)[0])
                arguments = [source, *given, "--local", "--protocol", "spdz-32", "--fake-preprocessing", "--memory", "1GiB", *inputs]
                seconds, report = phineus_run(arguments, files)
                doing = [party["phases"]["activities"] for party in report["parties"]]
                ours.append(max(one["computing"] + one["checking"] for one in doing))
                whole.append(seconds)
        rows.append([str(count), show(theirs), show(ours), show(whole),
                     f"**{statistics.median(theirs) / statistics.median(ours):.1f}**"])
    table(["parties", "MP-SPDZ, s", "Phineus, s", "inputs included, s", "ratio"], rows)


MASCOT = [  # what, MP-SPDZ's program and its size, our program and its parameters
    ("10,000 products", "products", 100, os.path.join(HERE, "products.c"), []),
    ("biometric matching of 1024 rows", "biomatch", 1024,
     os.path.join(HERE, "../../crates/frontend/tests/c/ok/biomatch.c"), ["--param", "N=1024"]),
]


def mascot(folder, counts="2,3"):
    """Seconds of whole runs with MASCOT: MP-SPDZ with its 128-bit prime; ours with 2^61 - 1 and 2^128 - 159, and with
    proofs that inputs are in the range of their types, which MP-SPDZ does not make."""
    rows, port = [], 14100
    for what, program, size, ours, settings in MASCOT:
        with open(os.path.join(folder, f"Programs/Source/{program}.mpc"), "w") as file:
            file.write(open(os.path.join(HERE, f"{program}.mpc")).read())
        run(["./compile.py", program, str(size)], cwd=folder)
        for count in map(int, counts.split(",")):  # two or three
            times, sent = {"theirs": [], "spdz": [], "spdz-128": []}, {}
            with tempfile.TemporaryDirectory() as inputs:
                # A third party learns the result.
                source = os.path.join(inputs, "program.c")
                with open(ours) as text, open(source, "w") as target:
                    names = ", carol" if count > 2 else ""
                    target.write(text.read().replace("PH_OUT(alice, bob)", f"PH_OUT(alice, bob{names})"))
                run([f"{TARGET}/phineus", "data", source, *settings, "--out-dir", inputs])
                files = [word for f in sorted(os.listdir(inputs)) if f.endswith(".csv")
                         for word in ("--in", f"{f[:-4]}={inputs}/{f}")]
                # The first party's numbers, then the second's, with no line of names.
                for party, name in enumerate(("a", "b") if program == "products" else ("probe", "base")):
                    with open(f"{inputs}/{name}.csv") as brought, open(f"{folder}/Player-Data/Input-P{party}-0", "w") as target:
                        target.write(" ".join(brought.read().replace(",", " ").split("\n", 1)[1].split()))
                for _ in range(REPEATS):
                    port += 20
                    text = mp_spdz(folder, f"{program}-{size}", ["-v"], count, port)
                    times["theirs"].append(float(re.search(r"^Time = ([\d.]+)", text, re.MULTILINE).group(1)))
                    sent["theirs"] = float(re.search(r"^Data sent = ([\d.]+) MB", text, re.MULTILINE).group(1))
                    for protocol in ("spdz", "spdz-128"):
                        arguments = [source, *settings, "--local", "--protocol", protocol, "--memory", "2GiB", *files]
                        seconds, report = phineus_run(arguments, inputs)
                        times[protocol].append(seconds)
                        sent[protocol] = max(p["measured"]["sent_bytes"] for p in report["parties"]) / 1e6
            ratios = [statistics.median(times["theirs"]) / statistics.median(times[p]) for p in ("spdz", "spdz-128")]
            rows.append([f"{what}, {count} parties", *(show(times[key]) for key in times),
                         *(f"{sent[key]:.0f}" for key in times), *(f"**{ratio:.1f}**" for ratio in ratios)])
    table(["what", "MP-SPDZ, s", "Phineus, 61 bits, s", "128 bits, s", "MP-SPDZ sent, MB", "61 bits, MB", "128 bits, MB",
           "ratio, 61 bits", "128 bits"], rows)


# What, MP-SPDZ's party and program with its size, what is written to the inputs of its first two parties, and ours: a
# program with its parameters and what `rep3_speed` runs, if anything.
REPLICATED = [
    ("AES-128 of 10,000 blocks", "bin", "replicated_aes 10000", (), "aes128 --param n=10000", "aes 10000"),
    ("the same, with their inputs and outputs", "bin", "replicated_aes_whole 10000", (10000, 10000),
     "aes128 --param n=10000", None),
    ("1,000,000 comparisons of 32 bits", "ring", "replicated_compare 1000000", (), None, "compare 1000000"),
    ("biometric matching of 4096 rows", "ring", "replicated_biometric 4096", (4, 4 * 4096),
     "biometric --param n=4096 --param width=32", None),
    ("product of matrices of 1000 rows in Z_2^64", "ring", "replicated_matrix 1000", (), None, "matrix 1000"),
]


def replicated_theirs(folder, kind, program, inputs, port):
    """Seconds by MP-SPDZ's own timer, processor seconds of the three parties (all of them), bytes sent by one."""
    for party, count in enumerate(inputs):
        with open(f"{folder}/Player-Data/Input-P{party}-0", "w") as file:
            file.write(" ".join(str(k * 37 % 251) for k in range(count)))
    name = program.replace(" ", "-")
    command = [f"./replicated-{kind}-party.x", name, "-pn", str(port), "-h", "localhost", "-p"]
    outputs, cpu = parties([command + [str(party)] for party in range(3)], cwd=folder)
    timed = re.search(r"Time1 = ([0-9.e+-]+)", outputs[0])
    return float(timed[1]), cpu


def replicated_ours(arguments, folder):
    """Seconds of the slowest party, inputs and outputs included, and processor seconds of all processes with planning."""
    inputs = [f"--in={name[:-4]}={name}" for name in sorted(os.listdir(folder)) if name.endswith(".csv")]
    command = [f"{TARGET}/phineus", "run", *arguments.split(), "--param", "parties=3", "--local", "--protocol", "rep3",
               "--memory", "4GiB", "--report", "report.json", *inputs]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run(command, cwd=folder)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    with open(f"{folder}/report.json") as file:
        report = json.load(file)
    seconds = max(party["seconds"]["running"] for party in report["parties"])
    return seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def replicated(folder, only=""):
    """Three parties on replicated shares. MP-SPDZ's timer has inputs and outputs where a row says so, and of biometric
    matching; ours always has them."""
    rows = []
    for what, kind, program, inputs, ours, driver in REPLICATED:
        if only and not any(part in what for part in only.split(",")):
            continue
        source = program.split()[0]
        with open(f"{HERE}/{source}.mpc") as text, open(f"{folder}/Programs/Source/{source}.mpc", "w") as copy:
            copy.write(text.read())
        run(["./compile.py", *(["-B", "128"] if kind == "bin" else ["-R", "64"]), *program.split()], cwd=folder)
        seconds = {"theirs": [], "cpu": [], "ours": [], "our_cpu": [], "driver": []}
        with tempfile.TemporaryDirectory() as files:
            if ours:
                run([f"{TARGET}/phineus", "data", *ours.split(), "--param", "parties=3"], cwd=files)
            for repeat in range(REPEATS):
                wall, cpu = replicated_theirs(folder, kind, program, inputs, 15000 + 10 * len(rows) + 100 * repeat)
                seconds["theirs"].append(wall)
                seconds["cpu"].append(cpu)
                if ours:
                    wall, cpu = replicated_ours(ours, files)
                    seconds["ours"].append(wall)
                    seconds["our_cpu"].append(cpu)
                if driver:
                    output = run([f"{TARGET}/examples/rep3_speed", *driver.split()])
                    seconds["driver"].append(min(map(float, re.findall(r"([0-9.]+) s from the keys on", output))))
        best = seconds["ours"] or seconds["driver"]
        rows.append([what, *(show(seconds[key], "{:.3f}") if seconds[key] else "" for key in seconds),
                     f"**{statistics.median(seconds['theirs']) / statistics.median(best):.1f}**"])
    table(["what", "MP-SPDZ, s", "its processor s, all", "Phineus, s", "processor s, with planning", "driver alone, s", "ratio"],
          rows)


ROW_BYTES = 16
# Numbers of rows of each method of ACK: the first accesses, which are not counted, and those after them. Of Square-Root
# ORAM these are whole periods, from the second on: the first period has no shuffle.
ACK = {
    "sqrt": {1 << 10: (97, 97), 1 << 12: (213, 213), 1 << 14: (462, 462)},
    "linear": {1 << 10: (1, 30), 1 << 12: (1, 10), 1 << 14: (1, 4)},
    "circuit": {1 << 10: (90, 30), 1 << 12: (90, 30), 1 << 14: (90, 30)},
    "fssl_cprg": {1 << 10: (8, 32), 1 << 12: (8, 32), 1 << 14: (8, 32)},
}
ACK_NAMES = {"sqrt": "Square-Root", "linear": "scan", "circuit": "Circuit ORAM", "fssl_cprg": "Floram (CPRG)"}
ACK_SECONDS = 150
BESIDE_ACK = {"sqrt": ["square-root", "square-root-table"], "linear": ["scan"]}


def ack_run(folder, program, options, port):
    """Seconds and bytes of each sample, the slower party and both together, and processor seconds of both parties; nothing if
    the program does not end."""
    command = [f"{os.path.abspath(folder)}/{program}", "-p", str(port), *options]
    # Floram stops for ever with fewer threads.
    environment = {**os.environ, "OMP_NUM_THREADS": "4"}
    commands = [command, [*command, "-c", "localhost"]]
    outputs, cpu = parties(commands, head_start=0.3, limit=ACK_SECONDS, env=environment)
    found = []
    for output in outputs:
        line = re.search(r"^\d+,\d+((?:,\d+)+)", output, re.MULTILINE)
        if not line:
            return None
        numbers = list(map(int, line[1][1:].split(",")))
        found.append(list(zip(numbers[::3], numbers[2::3])))
    return [(max(one[0], two[0]) / 1e6, one[1] + two[1]) for one, two in zip(*found)], cpu


def ack_access(folder, method, rows, port):
    """Seconds, bytes and processor seconds of an access in the steady state: of a run less its first accesses."""
    first, more = ACK[method][rows]
    options = ["-e", str(rows), "-s", str(ROW_BYTES // 4), "-o", method, "-i"]
    short = ack_run(folder, "bench_oram_write", [*options, str(first)], port)
    long = ack_run(folder, "bench_oram_write", [*options, str(first + more)], port + 1)
    if not short or not long:
        return None
    counted = long[0][first:]
    return (sum(one[0] for one in counted) / more, sum(one[1] for one in counted) / more, (long[1] - short[1]) / more)


def our_period(method, rows):
    """Accesses after which a method of ours does the same again (docs/protocols/oram.md, section 2)."""
    bits = (rows - 1).bit_length()
    switches = bits * rows - (1 << bits) + 1
    # That of `square-root-table` is shorter: of so many accesses a part of a period does not matter.
    wanted = {"scan": 32**2, "square-root": switches, "square-root-table": 1000**2}[method]
    return min(math.isqrt(wanted - 1) + 1, rows)


def our_accesses(method, rows, accesses):
    """Seconds of the slower party, bytes of both, processor seconds of all with planning."""
    parameters = {"rows": rows, "width": 8 * ROW_BYTES, "accesses": accesses, "memory": method}
    given = [word for key, value in parameters.items() for word in ("--param", f"{key}={value}")]
    with tempfile.TemporaryDirectory() as files:
        run([f"{TARGET}/phineus", "data", "accesses", *given, "--out-dir", files])
        inputs = [word for name in ("table", "indices") for word in ("--in", f"{name}={files}/{name}.csv")]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        # The connections of Absentminded Crypto Kit are not encrypted.
        arguments = ["accesses", *given, "--local", "--plain", "--protocol", "garbled", "--memory", "4GiB", *inputs]
        seconds, report = phineus_run(arguments, files)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    sent = sum(party["measured"]["sent_bytes"] for party in report["parties"])
    return seconds, sent, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def difference(after, before, count=1):
    return tuple((a - b) / count for a, b in zip(after, before))


def each_middle(samples):
    """The median of each figure."""
    return tuple(statistics.median(values) for values in zip(*samples))


def ack(folder, csv=None):
    """An access in the steady state and the first shuffle, of rows of 16 bytes, beside Absentminded Crypto Kit on Obliv-C. Its
    accesses are writes; ours change a row, which costs a scan twice as much."""
    rows, points, port = [], [], 21000 + os.getpid() % 500 * 20
    for count in ACK["sqrt"]:
        theirs, ours, first = {m: [] for m in ACK}, {m: [] for m in BESIDE_ACK["sqrt"] + BESIDE_ACK["linear"]}, {}
        for _ in range(REPEATS):
            for method, found in theirs.items():
                port += 2
                # Floram stops for ever at some sizes.
                found.append(None if None in found else ack_access(folder, method, count, port))
            port += 1
            shuffle = ack_run(folder, "bench_oram_init", ["-e", str(count), "-s", "4", "-o", "sqrt", "-i", "1"], port)
            first.setdefault("sqrt", []).append((*shuffle[0][0], shuffle[1]))
            for method, found in ours.items():
                period = our_period(method, count)
                more = period * -(-200 // period) if method != "scan" else period
                runs = [our_accesses(method, count, accesses) for accesses in (0, 1, 1 + more)]
                found.append(difference(runs[2], runs[1], more))
                first.setdefault(method, []).append(difference(runs[1], runs[0]))
        for method, peers in BESIDE_ACK.items():
            their = each_middle(theirs[method])
            for mine in peers:
                our = each_middle(ours[mine])
                rows.append(ack_row(f"access, 2^{count.bit_length() - 1} rows", ACK_NAMES[method], their, mine, our))
                if method == "sqrt":
                    what = f"first shuffle, 2^{count.bit_length() - 1} rows"
                    rows.append(ack_row(what, ACK_NAMES[method], each_middle(first[method]), mine, each_middle(first[mine])))
        for method, found in theirs.items():
            if None in found:
                print(f"ACK's {method} did not end at {count} rows")
                continue
            their = each_middle(found)
            if method not in BESIDE_ACK:
                rows.append(ack_row(f"access, 2^{count.bit_length() - 1} rows", ACK_NAMES[method], their, "", None))
            points += [(picture, f"ACK, {ACK_NAMES[method]}, 16 B", count, value)
                       for picture, value in zip(("figure-9-time", "figure-9-bytes"), their)]
        points += [(picture, "ACK, Square-Root, 16 B", count, value)
                   for picture, value in zip(("figure-10-time", "figure-10-bytes"), each_middle(first["sqrt"]))]
        print(f"{count} rows: load average {os.getloadavg()[0]:.1f}", flush=True)
    table(["what", "ACK", "its ms", "its processor ms", "its MB", "Phineus", "ms", "processor ms, with planning", "MB",
           "ratio, wall", "ratio, processor"], rows)
    if csv:
        with open(csv, "w") as file:
            file.write("picture,curve,x,y\n")
            file.writelines(f'{picture},"{curve}",{x},{y}\n' for picture, curve, x, y in points)


def ack_row(what, theirs, their, mine, our):
    """Milliseconds, processor milliseconds and megabytes of both, and ratios."""
    cells = lambda one: [f"{one[0] * 1e3:.2f}", f"{one[2] * 1e3:.2f}", f"{one[1] / 1e6:.2f}"]
    if our is None:
        return [what, theirs, *cells(their), "", "", "", "", "", ""]
    return [what, theirs, *cells(their), mine, *cells(our), f"**{their[0] / our[0]:.1f}**", f"{their[2] / our[2]:.1f}"]


if __name__ == "__main__":
    comparisons = {"emp": emp, "mage": mage, "motion": motion, "operations": operations, "spdz": spdz,
                   "figures": figures, "parties": by_parties, "mascot": mascot,
                   "replicated": replicated, "ack": ack}
    if len(sys.argv) < 3 or sys.argv[1] not in comparisons:
        sys.exit(__doc__)
    comparisons[sys.argv[1]](*sys.argv[2:])
