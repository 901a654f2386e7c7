// Drives the request and response streams of a Verilated unit from arrays.
#include <cstdint>
#include <cstring>
#include <memory>

#include "Vtop.h"
#include "verilated.h"

#define API extern "C" __attribute__((visibility("default")))

template <class T> static void store(T& port, const uint32_t* words) {
    port = static_cast<T>(sizeof(T) > 4 ? words[0] | uint64_t(words[1]) << 32 : words[0]);
}
template <std::size_t N> static void store(VlWide<N>& port, const uint32_t* words) {
    std::memcpy(&port[0], words, 4 * N);
}
template <class T> static void load(const T& port, uint32_t* words) {
    words[0] = static_cast<uint32_t>(port);
    if (sizeof(T) > 4) words[1] = static_cast<uint32_t>(uint64_t(port) >> 32);
}
template <std::size_t N> static void load(const VlWide<N>& port, uint32_t* words) {
    std::memcpy(words, &port[0], 4 * N);
}
// Words that a port takes in an array of 32-bit words.
template <class T> static constexpr std::size_t words_of(const T&) { return sizeof(T) > 4 ? 2 : 1; }
template <std::size_t N> static constexpr std::size_t words_of(const VlWide<N>&) { return N; }
template <class T> static bool same(const T& a, const T& b) { return a == b; }
template <std::size_t N> static bool same(const VlWide<N>& a, const VlWide<N>& b) {
    return !std::memcmp(&a[0], &b[0], 4 * N);
}

#include "binding.hpp"

namespace {

struct Unit {
    VerilatedContext context;
    Vtop top{&context};

    Unit() {
        top.rst = 1;
        for (int k = 0; k < 3; ++k) clock();
        top.rst = 0;
        top.eval();
    }
    // Inputs settle with the clock low, then it rises.
    void clock() {
        top.clk = 0;
        top.eval();
        top.clk = 1;
        top.eval();
    }
};

}  // namespace

API Unit* unit_open() { return new Unit; }
API void unit_close(Unit* unit) {
    unit->top.final();
    delete unit;
}
API void unit_set(Unit* unit, int port, const uint32_t* words) {
    set_port(unit->top, port, words);
    unit->top.eval();
}
API void unit_get(Unit* unit, int port, uint32_t* words) { get_port(unit->top, port, words); }
API void unit_step(Unit* unit, uint64_t clocks) {
    while (clocks--) unit->clock();
}

// Returns the responses taken, or all ones if one was changed or taken back while it waited.
API uint64_t unit_run(Unit* unit, const uint32_t* requests, uint64_t request_count,
                      uint32_t* responses, uint64_t response_count, uint32_t source_gap,
                      uint32_t sink_gap, uint64_t seed, uint64_t max_idle, uint64_t* clocks) {
    Vtop& top = unit->top;
    const std::size_t into = words_of(top.request___05Fpayload);
    const std::size_t out = words_of(top.response___05Fpayload);
    auto held = top.response___05Fpayload;
    bool waiting = false;
    uint64_t state = seed | 1, sent = 0, taken = 0, idle = 0;
    auto pause = [&](uint32_t gap) {
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        return (state >> 32 & 0xFFFF) < gap;
    };
    *clocks = 0;
    while (taken < response_count && idle < max_idle) {
        if (!top.request___05Fvalid && sent < request_count && !(source_gap && pause(source_gap))) {
            store(top.request___05Fpayload, requests + sent * into);
            top.request___05Fvalid = 1;
        }
        top.response___05Fready = !(sink_gap && pause(sink_gap));
        top.clk = 0;
        top.eval();
        const bool give = top.request___05Fvalid && top.request___05Fready;
        const bool take = top.response___05Fvalid && top.response___05Fready;
        if (waiting && !(top.response___05Fvalid && same(held, top.response___05Fpayload)))
            return ~uint64_t(0);
        waiting = top.response___05Fvalid && !take;
        if (waiting) held = top.response___05Fpayload;
        if (take) load(top.response___05Fpayload, responses + taken++ * out);
        *clocks += sent > 0 || give;
        idle = give || take ? 0 : idle + 1;
        top.clk = 1;
        top.eval();
        if (give) {
            ++sent;
            top.request___05Fvalid = 0;
        }
    }
    top.response___05Fready = 0;
    return taken;
}
