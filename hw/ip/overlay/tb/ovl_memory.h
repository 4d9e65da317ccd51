// Memory beside the device, for the testbench: one for each AXI4 port of ovl_top.
//
// Beats leave one after another, at a rate that reads and writes share, and are there a latency later; what was written is
// there for reads that come after the answer. crates/overlay/src/link has the same arithmetic. If it is slow at random, it
// takes and gives in three of four cycles on each channel, and answers reads of several identifiers in any order. What lies
// outside of its contents is answered with an error. It stops the simulation if the device breaks a rule of AXI4.
#pragma once

#include <algorithm>
#include <array>
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
        Port &port = ports_[cell];
        port.begin = address;
        port.contents.resize(4 * count);
        memcpy(port.contents.data(), words, 4 * count);
    }

    bool is_used() const { return is_used_; }
    uint64_t beats_moved() const { return beats_moved_; }

    // Drives the inputs of the ports for this cycle.
    void offer(Top &top) {
        top.m_axi_arready = top.m_axi_rvalid = top.m_axi_awready = top.m_axi_wready = top.m_axi_bvalid = 0;
        for (int cell = 0; cell < CELLS; cell++) {
            Port &port = ports_[cell];
            uint32_t bit = 1u << cell;
            if (is_ready(random_)) top.m_axi_arready |= bit;
            if (is_ready(random_)) top.m_axi_awready |= bit;
            if (is_ready(random_)) top.m_axi_wready |= bit;
            if (!port.is_read_offered) choose(port);
            if (port.is_read_offered) answer(top, cell, port.reads[port.chosen]);
            bool is_written = !port.writes.empty() && port.writes.front().arrives <= now_;
            port.is_write_offered = is_written && (port.is_write_offered || is_ready(random_));
            if (!port.is_write_offered) continue;
            top.m_axi_bvalid |= bit;
            set_response(top.m_axi_bresp, cell, is_inside(port, port.writes.front().address));
        }
    }

    // After the outputs are computed, and before the clock rises; returns whether something moves.
    bool take(Top &top) {
        bool moves = false;
        for (int cell = 0; cell < CELLS; cell++) {
            Port &port = ports_[cell];
            if (port.is_read_offered && (top.m_axi_rready >> cell & 1)) {
                port.reads.erase(port.reads.begin() + port.chosen);
                port.is_read_offered = false;
                beats_moved_++;
                moves = true;
            }
            if (port.is_write_offered && (top.m_axi_bready >> cell & 1)) {
                write(port, port.writes.front());
                port.writes.pop_front();
                port.is_write_offered = false;
                beats_moved_++;
                moves = true;
            }
            moves |= take_read(top, cell, port) | take_write(top, cell, port);
        }
        now_++;
        return moves;
    }

  private:
    static constexpr uint64_t BEAT_BYTES = sizeof(Top::m_axi_rdata) / CELLS;
    using Beat = std::array<char, BEAT_BYTES>;

    struct Read {
        uint8_t identifier;
        uint64_t arrives;
        bool is_last;
        bool is_right;
        Beat data;
    };

    struct Write {
        uint64_t address;
        uint64_t arrives;
        Beat data;
        uint64_t strobes;
    };

    // What the device offers on a channel until it is taken.
    struct Offer {
        bool is_there = false;
        uint64_t value = 0;
    };

    struct Port {
        uint64_t begin = 0;
        std::vector<char> contents;
        uint64_t free_at = 0;
        std::deque<Read> reads;
        size_t chosen = 0;
        bool is_read_offered = false;
        std::deque<uint64_t> write_addresses;
        std::deque<Write> write_data, writes;
        bool is_write_offered = false;
        Offer read_address, write_address, write_beat;
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

    template <typename Vector>
    static void set_response(Vector &vector, int cell, bool is_right) {
        constexpr uint32_t DECODE_ERROR = 3;
        vector = (vector & ~(3u << (2 * cell))) | (is_right ? 0 : DECODE_ERROR << (2 * cell));
    }

    static bool is_inside(const Port &port, uint64_t address) {
        return address >= port.begin && address - port.begin < port.contents.size();
    }

    // Whether an offer is taken now; offers stay, unchanged, until they are.
    bool is_taken(Offer &offer, bool is_valid, bool is_ready, uint64_t value) {
        check(is_valid || !offer.is_there, "withdrew what it had offered");
        check(!offer.is_there || offer.value == value, "changed what it had offered");
        offer = {is_valid && !is_ready, value};
        return is_valid && is_ready;
    }

    // When the next beat is done, which may begin in the next cycle.
    uint64_t done(Port &port) {
        port.free_at = std::max(port.free_at, (now_ + 1) * timing_.cycle_ticks) + BEAT_BYTES * timing_.byte_ticks;
        return (port.free_at + timing_.cycle_ticks - 1) / timing_.cycle_ticks + timing_.latency_cycles;
    }

    bool take_read(Top &top, int cell, Port &port) {
        uint64_t address = field<uint64_t>(top.m_axi_araddr, cell);
        bool is_valid = top.m_axi_arvalid >> cell & 1, is_ready = top.m_axi_arready >> cell & 1;
        if (!is_taken(port.read_address, is_valid, is_ready, address)) return false;
        uint64_t beats = field<uint8_t>(top.m_axi_arlen, cell) + 1;
        uint8_t identifier = top.m_axi_arid >> (2 * cell) & 3;
        check(address % BEAT_BYTES == 0, "asked for a part of a beat");
        check(address / 4096 == (address + beats * BEAT_BYTES - 1) / 4096, "asked for a burst across 4 KiB");
        for (uint64_t beat = 0; beat < beats; beat++) {
            uint64_t at = address + beat * BEAT_BYTES;
            Read read{identifier, done(port), beat + 1 == beats, is_inside(port, at), {}};
            // The last beat may end after the contents.
            if (read.is_right) {
                uint64_t from = at - port.begin, size = std::min(BEAT_BYTES, port.contents.size() - from);
                memcpy(read.data.data(), port.contents.data() + from, size);
            }
            port.reads.push_back(read);
        }
        return true;
    }

    bool take_write(Top &top, int cell, Port &port) {
        bool moves = false;
        uint64_t address = field<uint64_t>(top.m_axi_awaddr, cell);
        bool is_valid = top.m_axi_awvalid >> cell & 1, is_ready = top.m_axi_awready >> cell & 1;
        if (is_taken(port.write_address, is_valid, is_ready, address)) {
            check(address % BEAT_BYTES == 0, "writes at a part of a beat");
            port.write_addresses.push_back(address);
            moves = true;
        }
        Write write{0, 0, field<Beat>(top.m_axi_wdata, cell), 0};
        memcpy(&write.strobes, reinterpret_cast<const char *>(&top.m_axi_wstrb) + BEAT_BYTES / 8 * cell, BEAT_BYTES / 8);
        is_valid = top.m_axi_wvalid >> cell & 1, is_ready = top.m_axi_wready >> cell & 1;
        if (is_taken(port.write_beat, is_valid, is_ready, write.strobes)) {
            check(top.m_axi_wlast >> cell & 1, "writes more than a beat");
            port.write_data.push_back(write);
            moves = true;
        }
        if (port.write_addresses.empty() || port.write_data.empty()) return moves;
        Write next = port.write_data.front();
        next.address = port.write_addresses.front();
        next.arrives = done(port);
        port.write_data.pop_front();
        port.write_addresses.pop_front();
        port.writes.push_back(next);
        return moves;
    }

    static void write(Port &port, const Write &write) {
        for (uint64_t byte = 0; byte < BEAT_BYTES; byte++) {
            uint64_t at = write.address + byte;
            if ((write.strobes >> byte & 1) && is_inside(port, at)) port.contents[at - port.begin] = write.data[byte];
        }
    }

    // Chooses the read whose answer is offered: the oldest, or at random the oldest of another identifier.
    void choose(Port &port) {
        if (port.reads.empty() || !is_ready(random_)) return;
        port.chosen = 0;
        if (!is_ready(random_)) {
            auto is_other = [&](const Read &read) { return read.identifier != port.reads.front().identifier; };
            auto other = std::find_if(port.reads.begin(), port.reads.end(), is_other);
            if (other != port.reads.end()) port.chosen = other - port.reads.begin();
        }
        port.is_read_offered = port.reads[port.chosen].arrives <= now_;
    }

    void answer(Top &top, int cell, const Read &read) {
        memcpy(reinterpret_cast<char *>(&top.m_axi_rdata) + BEAT_BYTES * cell, read.data.data(), BEAT_BYTES);
        set_response(top.m_axi_rresp, cell, read.is_right);
        top.m_axi_rid = (top.m_axi_rid & ~(3u << (2 * cell))) | uint32_t(read.identifier) << (2 * cell);
        top.m_axi_rlast = (top.m_axi_rlast & ~(1u << cell)) | uint32_t(read.is_last) << cell;
        top.m_axi_rvalid |= 1u << cell;
    }

    Port ports_[CELLS];
    OvlMemoryTiming timing_{};
    uint64_t random_ = 0;
    uint64_t now_ = 0;
    uint64_t beats_moved_ = 0;
    bool is_used_ = false;
};
