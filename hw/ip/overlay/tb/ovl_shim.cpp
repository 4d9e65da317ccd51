// Drives the Verilated ovl_top for crates/overlay: registers, a run over the five streams, and memory at the memory ports.
//
// It is compiled once for each number of cells, OVL_CELLS. OVL_MODEL is the class that Verilator made, OVL_HEADER its
// header, and OVL_NAME(x) the name of function x.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>

#include OVL_HEADER
#include "ovl_memory.h"
#include "verilated.h"

namespace {

constexpr int WORD_LANES = sizeof(OVL_MODEL::s_axis_word_tdata) / 4;

// Words of 32 bits in a row.
constexpr int ROW_WORDS = 8;

struct Device {
    std::unique_ptr<VerilatedContext> context = std::make_unique<VerilatedContext>();
    std::unique_ptr<OVL_MODEL> top = std::make_unique<OVL_MODEL>(context.get());

    OvlMemory<OVL_MODEL, OVL_CELLS> memory;

    // Returns whether something moved between device and memory.
    bool clock() {
        bool has_moved = false;
        if (memory.is_used()) {
            memory.offer(*top);
            top->eval();
            has_moved = memory.take(*top);
        }
        top->clk = 1;
        top->eval();
        top->clk = 0;
        top->eval();
        return has_moved;
    }
};

// Whether the beat of rows that is there has one of a cell: 32 bits of tkeep say so.
bool has_row(OVL_MODEL &top, int cell) {
    if (!top.m_axis_row_tvalid) return false;
    uint32_t keep;
    memcpy(&keep, reinterpret_cast<const char *>(&top.m_axis_row_tkeep) + 4 * cell, 4);
    return keep != 0;
}

}  // namespace

extern "C" {

// Streams of one run; counts say how many were moved.
struct OvlStreams {
    const uint32_t *words;
    uint64_t word_count;
    uint64_t words_sent;
    const uint32_t *labels;
    // The result that is sent as this label, or all ones for `labels`.
    const uint64_t *label_results;
    uint64_t label_count;
    uint64_t labels_sent;
    const uint32_t *rows_in;
    uint64_t rows_in_count;
    uint64_t rows_in_sent;
    uint32_t *rows;
    uint64_t rows_max;
    uint64_t rows_received;
    uint32_t *results;
    uint64_t results_max;
    uint64_t results_received;
    // rows_in has beats: a row for each cell, used or not. Other rows are one by one.
    // Clocks without a transfer after which the run is given up.
    uint64_t quiet_clocks_max;
    // Clocks after which the call returns, and those that it took.
    uint64_t clocks_max;
    uint64_t clocks;
    // Streams that may move, one bit each: words, labels, rows to evaluate, rows, results.
    uint64_t permitted;
};

// What a run remembers from one call to the next.
struct OvlState {
    // 0 for a host that is always ready; else the state of the generator of when it is not.
    uint64_t random;
    // Clocks since something was moved.
    uint64_t quiet_clocks;
    // Whether a word, a label and a row are offered: they stay offered until they are taken.
    uint64_t offered[3];
};

enum OvlPermit : uint64_t { OVL_WORD = 1, OVL_LABEL = 2, OVL_ROW_IN = 4, OVL_ROW = 8, OVL_RESULT = 16 };

enum OvlPause : uint32_t { OVL_END = 0, OVL_SPACE = 1, OVL_SLICE = 2 };

Device *OVL_NAME(open)() {
    auto *device = new Device;
    device->top->clk = 0;
    device->top->resetn = 0;
    device->top->eval();
    for (int i = 0; i < 4; i++) device->clock();
    device->top->resetn = 1;
    device->clock();
    return device;
}

void OVL_NAME(close)(Device *device) { delete device; }

uint32_t OVL_NAME(word_lanes)() { return WORD_LANES; }

// Memory at the ports, of stated times; `random` is as in OvlState.
void OVL_NAME(set_memory)(Device *device, const OvlMemoryTiming *timing, uint64_t random) {
    device->memory.set_timing(*timing, random);
}

// Puts words of 32 bits into the memory of a cell.
void OVL_NAME(store)(Device *device, uint32_t cell, uint64_t address, const uint32_t *words, uint64_t count) {
    device->memory.store(cell, address, words, count);
}

// Beats that were read and written.
uint64_t OVL_NAME(beats_moved)(Device *device) { return device->memory.beats_moved(); }

void OVL_NAME(write)(Device *device, uint32_t address, uint32_t value) {
    auto &top = *device->top;
    top.s_axil_awaddr = address;
    top.s_axil_wdata = value;
    top.s_axil_awvalid = top.s_axil_wvalid = 1;
    top.s_axil_bready = 1;
    top.eval();
    while (!top.s_axil_awready) device->clock();
    device->clock();
    top.s_axil_awvalid = top.s_axil_wvalid = 0;
    while (!top.s_axil_bvalid) device->clock();
    device->clock();
}

uint32_t OVL_NAME(read)(Device *device, uint32_t address) {
    auto &top = *device->top;
    top.s_axil_araddr = address;
    top.s_axil_arvalid = 1;
    top.s_axil_rready = 1;
    top.eval();
    while (!top.s_axil_arready) device->clock();
    device->clock();
    top.s_axil_arvalid = 0;
    while (!top.s_axil_rvalid) device->clock();
    uint32_t value = top.s_axil_rdata;
    device->clock();
    return value;
}

// Moves the streams until nothing moves any more, a row has no space, or clocks_max have passed. No clock passes between
// two calls.
uint32_t OVL_NAME(run)(Device *device, OvlStreams *s, OvlState *state) {
    auto &top = *device->top;
    auto &[word_offered, label_offered, row_offered] = state->offered;
    OvlPause pause = OVL_END;
    auto is_permitted = [s](OvlPermit stream) { return (s->permitted & stream) != 0; };
    while (state->quiet_clocks < s->quiet_clocks_max) {
        if (s->clocks == s->clocks_max) {
            pause = OVL_SLICE;
            break;
        }
        word_offered = s->words_sent < s->word_count && is_permitted(OVL_WORD)
            && (word_offered || is_ready(state->random));
        bool has_label = s->labels_sent < s->label_count;
        const uint32_t *label = nullptr;
        if (has_label) {
            uint64_t from = s->label_results[s->labels_sent];
            label = from == UINT64_MAX ? s->labels + s->labels_sent * 4 : s->results + from * 4;
            has_label = from == UINT64_MAX || from < s->results_received;
        }
        label_offered =
            has_label && is_permitted(OVL_LABEL) && (label_offered || is_ready(state->random));
        top.s_axis_word_tvalid = word_offered;
        if (word_offered)
            memcpy(&top.s_axis_word_tdata, s->words + s->words_sent * WORD_LANES, 4 * WORD_LANES);
        top.s_axis_label_tvalid = label_offered;
        if (label_offered) memcpy(&top.s_axis_label_tdata, label, 16);
        row_offered = s->rows_in_sent < s->rows_in_count && is_permitted(OVL_ROW_IN)
            && (row_offered || is_ready(state->random));
        top.s_axis_row_tvalid = row_offered;
        if (row_offered) {
            const uint32_t *beat = s->rows_in + s->rows_in_sent * ROW_WORDS * OVL_CELLS;
            memcpy(&top.s_axis_row_tdata, beat, sizeof(top.s_axis_row_tdata));
        }
        // The rows of the beat that is there now.
        uint64_t beat_rows = 0;
        for (int cell = 0; cell < OVL_CELLS; cell++) beat_rows += has_row(top, cell);
        bool has_space = s->rows_received + beat_rows <= s->rows_max;
        top.m_axis_row_tready = has_space && s->rows_received < s->rows_max
            && is_permitted(OVL_ROW) && is_ready(state->random);
        top.m_axis_result_tready = s->results_received < s->results_max
            && is_permitted(OVL_RESULT) && is_ready(state->random);
        top.eval();
        if (top.m_axis_row_tvalid && !has_space) {
            pause = OVL_SPACE;
            break;
        }
        bool moved = false;
        if (word_offered && top.s_axis_word_tready) {
            s->words_sent++;
            word_offered = 0;
            moved = true;
        }
        if (label_offered && top.s_axis_label_tready) {
            s->labels_sent++;
            label_offered = 0;
            moved = true;
        }
        if (row_offered && top.s_axis_row_tready) {
            s->rows_in_sent++;
            row_offered = 0;
            moved = true;
        }
        if (top.m_axis_row_tvalid && top.m_axis_row_tready) {
            for (int cell = 0; cell < OVL_CELLS; cell++) {
                if (!has_row(top, cell)) continue;
                const uint32_t *row = &top.m_axis_row_tdata[cell * ROW_WORDS];
                memcpy(s->rows + ROW_WORDS * s->rows_received++, row, 4 * ROW_WORDS);
            }
            moved = true;
        }
        if (top.m_axis_result_tvalid && top.m_axis_result_tready) {
            memcpy(s->results + 4 * s->results_received++, &top.m_axis_result_tdata, 16);
            moved = true;
        }
        moved |= device->clock();
        state->quiet_clocks = moved ? 0 : state->quiet_clocks + 1;
        s->clocks++;
    }
    top.s_axis_word_tvalid = top.s_axis_label_tvalid = top.s_axis_row_tvalid = 0;
    top.m_axis_row_tready = top.m_axis_result_tready = 0;
    return pause;
}

}  // extern "C"
