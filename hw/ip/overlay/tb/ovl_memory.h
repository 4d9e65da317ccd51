// Memory beside the device, for the testbench: one for each AXI4 port of ovl_top.
//
// It answers in order. Beats leave one after another, at a rate, and are there a latency later; crates/overlay/src/link has the
// same arithmetic. If it is slow at random, it takes addresses and gives beats in three of four cycles. What lies outside
// of its contents is answered with an error. It stops the simulation if the device breaks a rule of AXI4.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <vector>

// True three times of four; always true for the state 0.
inline bool is_ready(uint64_t &state) {
    if (state == 0) return true;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (state & 3) != 0;
}

// A cycle has cycle_ticks, and a byte takes byte_ticks.
struct OvlMemoryTiming {
    uint64_t latency_cycles;
    uint64_t cycle_ticks;
    uint64_t byte_ticks;
};

template <typename Top, int CELLS>
class OvlMemory {
  public:
    void set_timing(const OvlMemoryTiming &timing, uint64_t random) {
        timing_ = timing;
        random_ = random;
        is_used_ = true;
    }

    // Puts words of 32 bits into the memory of a cell, in place of what was there.
    void store(int cell, uint64_t address, const uint32_t *words, uint64_t count) {
        ports_[cell].begin = address;
        ports_[cell].contents.assign(words, words + count);
    }

    bool is_used() const { return is_used_; }
    uint64_t beats_read() const { return beats_read_; }

    // Drives the inputs of the ports for this cycle.
    void offer(Top &top) {
        top.m_axi_arready = top.m_axi_rvalid = 0;
        for (int cell = 0; cell < CELLS; cell++) {
            Port &port = ports_[cell];
            if (is_ready(random_)) top.m_axi_arready |= 1 << cell;
            bool is_there = !port.beats.empty() && port.beats.front().arrives <= now_;
            port.is_offered = is_there && (port.is_offered || is_ready(random_));
            if (port.is_offered) answer(top, cell, port.beats.front());
        }
    }

    // After the outputs are computed, and before the clock rises; returns whether something moves.
    bool take(Top &top) {
        bool moves = false;
        for (int cell = 0; cell < CELLS; cell++) {
            Port &port = ports_[cell];
            if (port.is_offered && (top.m_axi_rready >> cell & 1)) {
                port.beats.pop_front();
                port.is_offered = false;
                beats_read_++;
                moves = true;
            }
            if (!(top.m_axi_arvalid >> cell & 1)) {
                check(!port.is_asked, "withdrew an address");
                continue;
            }
            uint64_t address = field<uint64_t>(top.m_axi_araddr, cell);
            check(!port.is_asked || port.asked == address, "changed an address");
            port.asked = address;
            port.is_asked = !(top.m_axi_arready >> cell & 1);
            if (port.is_asked) continue;
            request(port, address, field<uint8_t>(top.m_axi_arlen, cell) + 1);
            moves = true;
        }
        now_++;
        return moves;
    }

  private:
    static constexpr uint64_t BEAT_BYTES = sizeof(Top::m_axi_rdata) / CELLS;

    struct Beat {
        uint64_t address;
        uint64_t arrives;
        bool is_last;
    };

    struct Port {
        uint64_t begin = 0;
        std::vector<uint32_t> contents;
        std::deque<Beat> beats;
        uint64_t free_at = 0;
        bool is_offered = false;
        // An address that the device offers, and that was not taken.
        uint64_t asked = 0;
        bool is_asked = false;
    };

    static void check(bool is_right, const char *what) {
        if (is_right) return;
        fprintf(stderr, "ovl_memory: the device %s\n", what);
        abort();
    }

    // The part of a vector that belongs to a cell.
    template <typename Part, typename Vector>
    static Part field(const Vector &vector, int cell) {
        Part part;
        memcpy(&part, reinterpret_cast<const char *>(&vector) + sizeof(Part) * cell, sizeof(Part));
        return part;
    }

    void request(Port &port, uint64_t address, uint64_t beats) {
        check(address % BEAT_BYTES == 0, "asked for a part of a beat");
        check(address / 4096 == (address + beats * BEAT_BYTES - 1) / 4096, "asked for a burst across 4 KiB");
        for (uint64_t beat = 0; beat < beats; beat++) {
            uint64_t cycle_begins = (now_ + 1) * timing_.cycle_ticks;
            port.free_at = std::max(port.free_at, cycle_begins) + BEAT_BYTES * timing_.byte_ticks;
            uint64_t leaves = (port.free_at + timing_.cycle_ticks - 1) / timing_.cycle_ticks;
            port.beats.push_back({address + beat * BEAT_BYTES, leaves + timing_.latency_cycles, beat + 1 == beats});
        }
    }

    void answer(Top &top, int cell, const Beat &beat) {
        const Port &port = ports_[cell];
        uint64_t size = 4 * port.contents.size(), from = beat.address - port.begin;
        bool is_inside = beat.address >= port.begin && from < size;
        char *data = reinterpret_cast<char *>(&top.m_axi_rdata) + BEAT_BYTES * cell;
        memset(data, 0xa5, BEAT_BYTES);
        // The last beat may end after the contents.
        if (is_inside) {
            const char *contents = reinterpret_cast<const char *>(port.contents.data());
            memcpy(data, contents + from, std::min(BEAT_BYTES, size - from));
        }
        constexpr uint32_t DECODE_ERROR = 3;
        top.m_axi_rresp &= ~(3u << (2 * cell));
        if (!is_inside) top.m_axi_rresp |= DECODE_ERROR << (2 * cell);
        top.m_axi_rlast &= ~(1u << cell);
        if (beat.is_last) top.m_axi_rlast |= 1u << cell;
        top.m_axi_rvalid |= 1u << cell;
    }

    Port ports_[CELLS];
    OvlMemoryTiming timing_{};
    uint64_t random_ = 0;
    uint64_t now_ = 0;
    uint64_t beats_read_ = 0;
    bool is_used_ = false;
};
