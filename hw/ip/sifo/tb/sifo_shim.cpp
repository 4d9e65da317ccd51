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

struct Access {
    bool busy = false;
    uint64_t complete_at = 0;
    uint32_t address = 0;
};

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

// Returns whether all batches were done.
bool sifo_run(SifoRun *run) {
    auto context = std::make_unique<VerilatedContext>();
    auto top = std::make_unique<Vsifo_top>(context.get());
    auto clock = [&] {
        top->clk = 1;
        top->eval();
        top->clk = 0;
        top->eval();
    };
    auto write = [&](uint32_t cell, uint32_t reg, uint32_t data) {
        top->host_write = 1;
        top->host_cell = cell;
        top->host_register = reg;
        top->host_data = data;
    };
    top->clk = 0;
    top->reset = 1;
    top->host_write = 0;
    top->ddr_read_complete = 0;
    top->ddr_write_complete = 0;
    for (int i = 0; i < 4; i++) clock();
    top->reset = 0;
    for (uint32_t i = 0; i < 3; i++) {
        uint32_t data = 0;
        memcpy(&data, run->offset + 4 * i, i < 2 ? 4 : 2);
        if (i == 2 && run->is_packed) data |= 1u << 31;
        write(CONTROL, i, data);
        clock();
    }
    top->host_write = 0;

    uint64_t random = run->ddr_seed;
    auto latency = [&] {
        if (random == 0) return run->ddr_cycles;
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        return run->ddr_cycles + random % 16;
    };
    const uint64_t write_ticks = run->write_main_cycles * run->main_ticks;
    uint64_t cycle = 0, batch = 0, written = 0, first_gate = 0, last_write = 0;
    uint64_t next_write = write_ticks;
    Access reads[2], store;
    uint8_t store_data[4 * LANE_BYTES];
    uint32_t store_lanes = 0;
    for (; batch < run->batch_count && cycle < run->cycles_max; cycle++) {
        const SifoBatch &now = run->batches[batch];
        // The command is the first write if cells start at once, else the last.
        const uint64_t gate_writes = now.gates * run->registers;
        const uint64_t command_at = run->overlap ? 0 : gate_writes;
        top->host_write = 0;
        if (written <= gate_writes && (next_write + DEVICE_TICKS - 1) / DEVICE_TICKS == cycle) {
            if (written == command_at) {
                write(CONTROL, 3, uint32_t(now.gates) | now.is_and << 8);
            } else {
                const uint64_t number = written - (run->overlap ? 1 : 0);
                const uint64_t gate = number / run->registers, reg = number % run->registers;
                write(uint32_t(gate), uint32_t(reg), run->gate_registers[3 * (first_gate + gate) + reg]);
            }
            written++;
            last_write = cycle;
            if (written <= gate_writes) next_write += write_ticks;
        }
        // DDR.
        top->ddr_read_complete = 0;
        for (int port = 0; port < 2; port++) {
            if (!reads[port].busy || reads[port].complete_at != cycle) continue;
            reads[port].busy = false;
            top->ddr_read_complete |= 1 << port;
            auto &data = port == 0 ? top->ddr_read_data0 : top->ddr_read_data1;
            memcpy(&data, run->ddr + 4 * LANE_BYTES * reads[port].address, 4 * LANE_BYTES);
        }
        top->ddr_write_complete = store.busy && store.complete_at == cycle;
        if (top->ddr_write_complete) {
            store.busy = false;
            for (int lane = 0; lane < 4; lane++) {
                if (store_lanes >> lane & 1) {
                    memcpy(run->ddr + LANE_BYTES * (4 * store.address + lane), store_data + LANE_BYTES * lane, LANE_BYTES);
                }
            }
        }
        top->eval();
        for (int port = 0; port < 2; port++) {
            if (!(top->ddr_read >> port & 1)) continue;
            const uint32_t address = port == 0 ? top->ddr_read_address0 : top->ddr_read_address1;
            if (reads[port].busy || 4 * uint64_t(address) >= run->ddr_lanes) return false;
            reads[port] = Access{true, cycle + latency(), address};
        }
        if (top->ddr_write) {
            if (store.busy || 4 * uint64_t(top->ddr_write_address) >= run->ddr_lanes) return false;
            store = Access{true, cycle + latency(), top->ddr_write_address};
            store_lanes = top->ddr_write_lanes;
            memcpy(store_data, &top->ddr_write_data, sizeof store_data);
        }
        if (top->row_valid) {
            if (run->rows_received == run->rows_max) return false;
            memcpy(run->rows + 3 * LABEL_BYTES * run->rows_received++, &top->row_data, 3 * LABEL_BYTES);
        }
        if (written == gate_writes + 1 && cycle > last_write && top->idle) {
            // Writes of the host end no later than the device does.
            run->device_cycles = cycle;
            const uint64_t done = cycle * DEVICE_TICKS;
            uint64_t ticks = next_write > done ? next_write : done;
            if (now.is_polled) ticks += run->poll_main_cycles * run->main_ticks;
            run->ticks = ticks;
            next_write = ticks + write_ticks;
            first_gate += now.gates;
            written = 0;
            batch++;
        }
        clock();
    }
    return batch == run->batch_count;
}

}  // extern "C"
