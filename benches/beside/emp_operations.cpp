// Operations of EMP-toolkit 0.3 (emp-sh2pc) between two processes over loopback TCP, to stand beside
// `cargo run --release -p phineus-protocols --example garbled_speed`.
//
//   emp_operations PARTY PORT MILLIONS_OF_ANDS CIRCUITS
//
// prints, for each operation: name, AND gates, seconds, processor seconds of this party. CIRCUITS is the
// folder that has emp's own aes_128.txt and sha256.txt.
#include "emp-sh2pc/emp-sh2pc.h"
#include <chrono>
#include <string>
#include <sys/resource.h>

using namespace emp;

static double wall() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

static double processor() {
    rusage use;
    getrusage(RUSAGE_SELF, &use);
    auto seconds = [](timeval t) { return t.tv_sec + t.tv_usec * 1e-6; };
    return seconds(use.ru_utime) + seconds(use.ru_stime);
}

static uint64_t ands() { return CircuitExecution::circ_exec->num_and(); }

// Repeats `unit` until `wanted` AND gates have been computed; both parties stop at the same gate.
template <class Unit>
static void measure(const char *name, uint64_t wanted, NetIO *io, Unit unit) {
    io->sync();
    uint64_t before = ands();
    double began = wall(), used = processor();
    while (ands() - before < wanted) unit();
    io->flush();
    io->sync();
    printf("%s\t%lu\t%.4f\t%.4f\n", name, (unsigned long)(ands() - before), wall() - began, processor() - used);
    fflush(stdout);
}

int main(int, char **argv) {
    int party = atoi(argv[1]), port = atoi(argv[2]);
    uint64_t wanted = strtoull(argv[3], nullptr, 10) * 1000000;
    std::string circuits = argv[4];
    NetIO *io = new NetIO(party == ALICE ? nullptr : "127.0.0.1", port, true);
    setup_semi_honest(io, party);

    Integer a(32, 1234567, ALICE), b(32, 7654321, BOB);
    Integer wide_a(128, 77, ALICE), wide_b(128, 99, BOB);
    Bit bit(true, ALICE);
    measure("add", wanted, io, [&] { a = a + b; });
    measure("mux", wanted, io, [&] { a = a.select(bit, b); b = b ^ a; });
    measure("mul", wanted, io, [&] { a = a * b; });
    measure("lt", wanted, io, [&] { bit = bit ^ (a < b); });
    measure("cond_swap", wanted, io, [&] { swap(bit, wide_a, wide_b); });

    std::vector<Integer> values;
    for (int i = 0; i < 4096; i++) values.emplace_back(32, i * 2654435761u, i % 2 ? ALICE : BOB);
    measure("sort", wanted, io, [&] { sort(values.data(), 4096); });

    BristolFashion aes((circuits + "/aes_128.txt").c_str()), sha((circuits + "/sha256.txt").c_str());
    std::vector<block> in(768), out(256);
    for (size_t i = 0; i < in.size(); i++) in[i] = (i % 2 ? a : b).bits[i % 32].bit;
    measure("aes128", wanted, io, [&] { aes.compute(out.data(), in.data()); });
    measure("sha256", wanted, io, [&] { sha.compute(out.data(), in.data()); });

    // Every result is opened, so that nothing of it was for nothing.
    uint32_t sink = (a ^ b).reveal<uint32_t>() ^ bit.reveal<bool>() ^ values[7].reveal<uint32_t>()
        ^ (wide_a ^ wide_b).resize(32).reveal<uint32_t>();
    fprintf(stderr, "%u\n", sink);
    finalize_semi_honest();
    delete io;
}
