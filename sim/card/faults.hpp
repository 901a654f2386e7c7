// What goes wrong on purpose in the memory behind one AXI4 master.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

namespace rlfabric {

enum Channel { AW, W, B, AR, R, CHANNELS };

// Mirror of the ctypes structure in verilated.py; sim.card.memory.Fault says what it means.
struct Fault {
    uint32_t master, channel;
    uint32_t response;       // 0: the channel moves nothing; else what answers on it say
    uint64_t cycle, until;   // from the first of these clocks on, to before the second
    uint64_t skip, count;    // answers there that are still right, and those that then fail
    uint64_t address, last;  // first and last byte that an answer must touch to be one of them
};

class Faults {
public:
    Faults(const Fault* faults, uint32_t fault_count, unsigned master) {
        for (uint32_t i = 0; i < fault_count; ++i)
            if (faults[i].master == master)
                (faults[i].response ? failing : stuck)[faults[i].channel].push_back({faults[i]});
    }

    bool stands_still(Channel channel, uint64_t cycle) const {
        for (const State& state : stuck[channel])
            if (state.active(cycle)) return true;
        return false;
    }

    // What the answer to `size` bytes at `address` says that is first shown in `cycle`. Faults
    // count answers, so each is asked about once.
    uint8_t response(Channel channel, uint64_t cycle, uint64_t address, uint32_t size) {
        uint8_t response = 0;
        for (State& state : failing[channel]) {
            const Fault& fault = state.fault;
            if (!state.active(cycle) || address > fault.last || address + size <= fault.address)
                continue;
            const uint64_t number = state.answers++;
            if (number >= fault.skip && number - fault.skip < fault.count)
                response = std::max(response, uint8_t(fault.response));
        }
        return response;
    }

private:
    struct State {
        Fault fault;
        uint64_t answers = 0;  // so far, of those that the fault counts

        bool active(uint64_t cycle) const { return cycle >= fault.cycle && cycle < fault.until; }
    };

    std::vector<State> stuck[CHANNELS], failing[CHANNELS];
};

}  // namespace rlfabric
