// What the memory behind an AXI4 master knows of Python, of the kernel's pins, and of its neighbours.
#pragma once
#include "faults.hpp"
#include <string>

namespace rlfabric {

inline const char* const channel_names[] = {"AW", "W", "B", "AR", "R"};

// Mirrors of the ctypes structures in verilated.py.
struct Buffer {
    uint64_t address, size;
    uint8_t* data;
    uint32_t readable, writable;
};
enum WriteOrder : uint32_t { ADDRESS, TOGETHER, DATA };
struct Settings {
    uint32_t read_latency, write_latency, outstanding;
    uint32_t write_order, write_wait;  // of sim.card.memory.MemoryConfig, as is all that follows
    uint32_t bandwidth;  // beats a clock and direction, in 1/65536
    uint32_t stall;      // probability that a channel stalls in a clock, in 1/65536
    uint32_t pause, period;  // of every `period` clocks a channel stands still for `pause`
    uint32_t fault_count, noise;
    uint64_t seed;
    const Fault* faults;
};
struct ChannelState {
    uint64_t beats, idle;            // transfers so far, clocks since the last
    uint32_t valid, ready, pending;  // pending: beats or answers that accepted bursts still owe
};

// What all memories of a card share: time, the last sign of life, the first broken rule.
struct Monitor {
    uint64_t cycle = 0, progress = 0;
    std::string violation;
};

// Random numbers; 0 stays 0.
template <class T> T next(T& random) {
    random ^= random << 13, random ^= random >> 7, random ^= random << 17;
    return random;
}

// Signals of one master, bound by the generated binding.hpp.
struct AddressPorts {
    uint8_t *valid, *ready;
    uint64_t* address;
    uint8_t *length, *size, *burst, *id;
};
struct MasterPorts {
    const char* name;
    unsigned bytes;  // a beat
    AddressPorts aw, ar;
    uint8_t *wvalid, *wready, *wlast, *wdata, *wstrb;
    uint8_t *bvalid, *bready, *bresp;
    uint8_t *rvalid, *rready, *rlast, *rresp, *rdata;
};

}  // namespace rlfabric
