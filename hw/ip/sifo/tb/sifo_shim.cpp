// Drives the Verilated sifo_top for crates/overlay: the host with its clock, and two ports of DDR. Time is in ticks of
// 600 MHz; the device has a cycle of three.
#include <cstdint>
#include <cstring>
#include <memory>

#include "Vsifo_top.h"
#include "verilated.h"

namespace {

constexpr uint64_t DEVICE_TICKS = 3;
constexpr uint32_t CONTROL = 31;
constexpr size_t LABEL_BYTES = 10;
constexpr size_t LANE_BYTES = 16;
constexpr size_t WORD_BYTES = 4 * LANE_BYTES;

}  // namespace

extern "C" {

struct SifoBatch {
    uint32_t is_and;
    uint32_t is_polled;
    uint64_t gates;
};

// One run.
struct SifoRun {
    const SifoBatch *batches;
    uint64_t batch_count;
    // Three registers a gate, of which the first `registers` are written.
    const uint32_t *gate_registers;
    uint64_t registers;
    uint32_t overlap;
    uint32_t is_packed;
    uint64_t main_ticks;
    uint64_t write_main_cycles;
    uint64_t poll_main_cycles;
    uint64_t ddr_cycles;
    // Seed of additional DDR cycles, at most 15 an access; 0 for none.
    uint64_t ddr_seed;
    const uint8_t *offset;
    // Lanes of 16 bytes, a multiple of four.
    uint8_t *ddr;
    uint64_t ddr_lanes;
    uint8_t *rows;
    uint64_t rows_max;
    uint64_t rows_received;
    uint64_t cycles_max;
    uint64_t ticks;
    uint64_t device_cycles;
};

}  // extern "C"

namespace {

void clock(Vsifo_top &top) {
    top.clk = 1;
    top.eval();
    top.clk = 0;
    top.eval();
}

void write(Vsifo_top &top, uint32_t cell, uint32_t reg, uint32_t data) {
    top.host_write = 1;
    top.host_cell = cell;
    top.host_register = reg;
    top.host_data = data;
}

// Two read ports and one write port, one access at a time on each.
struct Ddr {
    struct Access {
        bool busy = false;
        uint64_t complete_at = 0;
        uint32_t address = 0;
    };

    SifoRun &run;
    uint64_t random;
    Access reads[2], store;
    uint8_t store_data[WORD_BYTES];
    uint32_t store_lanes = 0;

    explicit Ddr(SifoRun &r) : run(r), random(r.ddr_seed) {}

    // What is complete in this cycle.
    void complete(Vsifo_top &top, uint64_t cycle) {
        top.ddr_read_complete = 0;
        for (int port = 0; port < 2; port++) {
            if (!reads[port].busy || reads[port].complete_at != cycle) continue;
            reads[port].busy = false;
            top.ddr_read_complete |= 1 << port;
            auto &data = port == 0 ? top.ddr_read_data0 : top.ddr_read_data1;
            memcpy(&data, run.ddr + WORD_BYTES * reads[port].address, WORD_BYTES);
        }
        top.ddr_write_complete = store.busy && store.complete_at == cycle;
        if (!top.ddr_write_complete) return;
        store.busy = false;
        for (int lane = 0; lane < 4; lane++) {
            if (!(store_lanes >> lane & 1)) continue;
            memcpy(run.ddr + WORD_BYTES * store.address + LANE_BYTES * lane, store_data + LANE_BYTES * lane, LANE_BYTES);
        }
    }

    // Takes requests; returns whether they are possible.
    bool take(Vsifo_top &top, uint64_t cycle) {
        for (int port = 0; port < 2; port++) {
            if (!(top.ddr_read >> port & 1)) continue;
            if (!begin(reads[port], cycle, port == 0 ? top.ddr_read_address0 : top.ddr_read_address1)) return false;
        }
        if (!top.ddr_write) return true;
        store_lanes = top.ddr_write_lanes;
        memcpy(store_data, &top.ddr_write_data, sizeof store_data);
        return begin(store, cycle, top.ddr_write_address);
    }

    bool begin(Access &access, uint64_t cycle, uint32_t address) {
        if (access.busy || 4 * uint64_t(address) >= run.ddr_lanes) return false;
        uint64_t cycles = run.ddr_cycles;
        if (random != 0) {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            cycles += random % 16;
        }
        access = Access{true, cycle + cycles, address};
        return true;
    }
};

// Writes registers at times of its own clock, and polls.
struct Host {
    SifoRun &run;
    const uint64_t write_ticks;
    uint64_t batch = 0;
    // Writes of this batch so far, and the gates of those before it.
    uint64_t written = 0, first_gate = 0;
    uint64_t next_write, last_write = 0;

    explicit Host(SifoRun &r) : run(r), write_ticks(r.write_main_cycles * r.main_ticks), next_write(write_ticks) {}

    bool done() const { return batch == run.batch_count; }
    uint64_t gate_writes() const { return run.batches[batch].gates * run.registers; }

    void step(Vsifo_top &top, uint64_t cycle) {
        top.host_write = 0;
        if (written > gate_writes() || (next_write + DEVICE_TICKS - 1) / DEVICE_TICKS != cycle) return;
        const SifoBatch &now = run.batches[batch];
        // The command is the first write if cells start at once, else the last.
        if (written == (run.overlap ? 0 : gate_writes())) {
            write(top, CONTROL, 3, uint32_t(now.gates) | now.is_and << 8);
        } else {
            const uint64_t number = written - (run.overlap ? 1 : 0);
            const uint64_t gate = number / run.registers, reg = number % run.registers;
            write(top, uint32_t(gate), uint32_t(reg), run.gate_registers[3 * (first_gate + gate) + reg]);
        }
        last_write = cycle;
        if (written++ < gate_writes()) next_write += write_ticks;
    }

    // Goes on to the next batch if the device is idle. Writes of the host end no later than the device does.
    void notice(const Vsifo_top &top, uint64_t cycle) {
        if (written <= gate_writes() || cycle <= last_write || !top.idle) return;
        run.device_cycles = cycle;
        const uint64_t device_ticks = cycle * DEVICE_TICKS;
        run.ticks = next_write > device_ticks ? next_write : device_ticks;
        if (run.batches[batch].is_polled) run.ticks += run.poll_main_cycles * run.main_ticks;
        next_write = run.ticks + write_ticks;
        first_gate += run.batches[batch++].gates;
        written = 0;
    }
};

void start(Vsifo_top &top, const SifoRun &run) {
    top.clk = 0;
    top.reset = 1;
    top.host_write = 0;
    top.ddr_read_complete = 0;
    top.ddr_write_complete = 0;
    for (int i = 0; i < 4; i++) clock(top);
    top.reset = 0;
    for (uint32_t i = 0; i < 3; i++) {
        uint32_t data = 0;
        memcpy(&data, run.offset + 4 * i, i < 2 ? 4 : 2);
        if (i == 2 && run.is_packed) data |= 1u << 31;
        write(top, CONTROL, i, data);
        clock(top);
    }
    top.host_write = 0;
}

}  // namespace

// Returns whether all batches were done.
extern "C" bool sifo_run(SifoRun *run) {
    auto context = std::make_unique<VerilatedContext>();
    auto top = std::make_unique<Vsifo_top>(context.get());
    start(*top, *run);
    Ddr ddr(*run);
    Host host(*run);
    for (uint64_t cycle = 0; !host.done() && cycle < run->cycles_max; cycle++) {
        host.step(*top, cycle);
        ddr.complete(*top, cycle);
        top->eval();
        if (!ddr.take(*top, cycle)) return false;
        if (top->row_valid) {
            if (run->rows_received == run->rows_max) return false;
            memcpy(run->rows + 3 * LABEL_BYTES * run->rows_received++, &top->row_data, 3 * LABEL_BYTES);
        }
        host.notice(*top, cycle);
        clock(*top);
    }
    return host.done();
}
