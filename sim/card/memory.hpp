// The memory behind one AXI4 master: serves its bursts from host buffers, in order, and checks the
// AXI rules on every beat. Two calls a clock: `sample` before the rising edge, when all signals
// stand, and `drive` after it, so the memory behaves like registered logic.
#pragma once
#include "interface.hpp"
#include <algorithm>
#include <cinttypes>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <deque>

namespace rlfabric {

class Memory {
public:
    Memory(const MasterPorts& ports, unsigned master, const Settings& settings, Monitor& monitor)
        : p(ports), settings(settings), monitor(monitor),
          random(settings.seed * 0x9E3779B97F4A7C15 + master + 1),
          faults(settings.faults, settings.fault_count, master) {
        uint64_t draw = random;  // a copy: pauses leave the order of the random stalls as it is
        for (auto& phase : phases) phase = next(draw) >> 16;
        noise = next(draw);
    }

    std::vector<Buffer> buffers;

    // Drop all bursts, as an interconnect in reset does; bytes that were taken stay written.
    void reset() {
        reads.clear(), writes.clear();
        read_beat = write_beat = 0, answers = 0;
        ar_held = aw_held = Held();
        aw_waited = w_waited = 0;
        r_shown = b_shown = w_stalled = w_whole = false;
    }

    // Take the transfers of the coming edge.
    void sample() {
        if (*p.rvalid & *p.rready) {
            moved(R);
            r_shown = false;
            if (++read_beat == reads.front().beats) reads.pop_front(), read_beat = 0;
        }
        if (*p.bvalid & *p.bready) {
            moved(B);
            b_shown = false;
            writes.pop_front();
            --answers;
        }
        sample_write();
        if (*p.ar.valid) sample_address<AR>(p.ar, ar_held, reads, writes);
        else if (ar_held.stalled) violate(AR, "valid fell before ready");
        const size_t taken = writes.size();
        if (*p.aw.valid) sample_address<AW>(p.aw, aw_held, writes, reads);
        else if (aw_held.stalled) violate(AW, "valid fell before ready");
        if (settings.write_order == DATA && writes.size() > taken) join();
        aw_waited = *p.aw.valid && !*p.aw.ready ? aw_waited + 1 : 0;
        w_waited = *p.wvalid && !*p.wready ? w_waited + 1 : 0;
    }

    // Show the memory's side of the coming clock.
    void drive() {
        // Less than a beat may be left over, or a bandwidth above a half would be a half.
        const uint32_t most = one + settings.bandwidth - 1;
        read_credit = std::min(read_credit + settings.bandwidth, most);
        write_credit = std::min(write_credit + settings.bandwidth, most);
        *p.ar.ready = reads.size() < settings.outstanding && open(AR);
        *p.aw.ready = writes.size() < settings.outstanding && takes_address() && open(AW);
        *p.wready = takes_data() && write_credit >= one && open(W);
        if (!r_shown && !reads.empty() && reads.front().due <= monitor.cycle &&
            read_credit >= one && open(R)) {
            const Burst& burst = reads.front();
            r_shown = true;
            read_credit -= one;
            const uint64_t offset = uint64_t(read_beat) * p.bytes;
            std::memcpy(p.rdata, burst.data + offset, p.bytes);
            *p.rlast = read_beat + 1 == burst.beats;
            *p.rresp = faults.response(R, monitor.cycle, burst.address + offset, p.bytes);
            if (*p.rresp) make_noise(p.rdata);
        }
        if (!b_shown && answers && writes.front().due <= monitor.cycle && open(B)) {
            const Burst& burst = writes.front();
            b_shown = true;
            *p.bresp = faults.response(B, monitor.cycle, burst.address, burst.beats * p.bytes);
        }
        *p.rvalid = r_shown;
        *p.bvalid = b_shown;
    }

    void report(ChannelState* out) const {
        const uint32_t valid[] = {*p.aw.valid, *p.wvalid, *p.bvalid, *p.ar.valid, *p.rvalid};
        const uint32_t ready[] = {*p.aw.ready, *p.wready, *p.bready, *p.ar.ready, *p.rready};
        uint32_t pending[CHANNELS] = {};
        for (size_t i = answers; i < writes.size(); ++i) pending[W] += writes[i].beats;
        for (const Burst& burst : reads) pending[R] += burst.beats;
        if (settings.write_order != DATA) pending[W] -= write_beat;
        pending[R] -= read_beat, pending[B] = answers;
        for (int c = 0; c < CHANNELS; ++c)
            out[c] = {beats[c], monitor.cycle - last[c], valid[c], ready[c], pending[c]};
    }

private:
    struct Burst {
        uint64_t address;
        uint32_t beats;
        uint8_t* data;
        uint64_t due;  // first clock in which the answer may be shown
    };
    struct Held {  // payload of an address channel, to be kept until it is taken
        bool stalled = false;
        uint64_t address = 0;
        uint32_t rest = 0;
    };

    template <Channel channel>
    void sample_address(const AddressPorts& a, Held& held, std::deque<Burst>& queue,
                        const std::deque<Burst>& others) {
        const uint32_t rest = *a.length | *a.size << 8 | *a.burst << 16 | *a.id << 24;
        if (held.stalled && (held.address != *a.address || held.rest != rest))
            violate(channel, "payload changed before ready");
        held = {!*a.ready, *a.address, rest};
        if (held.stalled) return;
        moved(channel);
        const uint64_t start = *a.address;
        const uint32_t count = *a.length + 1u, size = count * p.bytes;
        const Buffer* buffer = find(start, size);
        const char* rule = nullptr;
        if (1u << *a.size != p.bytes) rule = "beats must be as wide as the bus";
        else if (*a.burst != 1) rule = "bursts must be INCR";
        else if (*a.id) rule = "id must be 0";
        else if (start % p.bytes) rule = "address must be aligned to a beat";
        else if ((start & 4095) + size > 4096) rule = "burst must not cross 4 KB";
        else if (!buffer) rule = "access must stay inside one buffer of this master";
        else if (channel == AR && !buffer->readable) rule = "buffer must not be read";
        else if (channel == AW && !buffer->writable) rule = "buffer must not be written";
        else
            for (const Burst& other : others)
                if (start < other.address + other.beats * p.bytes && other.address < start + size)
                    rule = channel == AR ? "read must wait for the answer of a write to its bytes"
                                         : "write must wait for the data of a read of its bytes";
        if (rule)
            return violate(channel, "%s (address 0x%" PRIx64 ", %u beats)", rule, start, count);
        queue.push_back({start, count, buffer->data + (start - buffer->address),
                         monitor.cycle + settings.read_latency});
    }

    // Whether data has begun and not ended of the burst that W shows.
    bool inside() const { return write_beat && !w_whole; }

    bool takes_address() const {
        if (aw_waited < settings.write_wait) return false;
        if (settings.write_order == DATA) return w_whole;
        // Data that nobody takes while no address waits for data is of the address on AW.
        return settings.write_order == ADDRESS || (w_stalled && answers == writes.size());
    }

    bool takes_data() const {
        if (!inside() && w_waited < settings.write_wait) return false;
        return settings.write_order == DATA ? !w_whole : answers < writes.size();
    }

    void sample_write() {
        if (!*p.wvalid) {
            if (w_stalled) violate(W, "valid fell before ready");
            else if (inside()) violate(W, "valid must not pause inside a burst");
            return;
        }
        if (w_stalled && (std::memcmp(w_data, p.wdata, p.bytes) || w_last != *p.wlast))
            violate(W, "payload changed before ready");
        w_stalled = !*p.wready;
        if (w_stalled) {
            std::memcpy(w_data, p.wdata, p.bytes);
            w_last = *p.wlast;
            return;
        }
        moved(W);
        write_credit -= one;
        for (unsigned i = 0; i < p.bytes; ++i)
            if (!(p.wstrb[i / 8] >> i % 8 & 1)) return violate(W, "strobes must be all ones");
        if (settings.write_order == DATA) {
            if ((write_beat + 1) * p.bytes > sizeof early)
                return violate(W, "last must come within %zu bytes", sizeof early);
            std::memcpy(early + write_beat++ * p.bytes, p.wdata, p.bytes);
            w_whole = *p.wlast;
            return;
        }
        Burst& burst = writes[answers];
        if (*p.wlast != (write_beat + 1 == burst.beats))
            return violate(W, "last must be %u on beat %u of %u, not %u", !*p.wlast,
                           write_beat + 1, burst.beats, *p.wlast);
        std::memcpy(burst.data + write_beat * p.bytes, p.wdata, p.bytes);
        if (++write_beat == burst.beats) finish(burst);
    }

    // The address has come of the data that came first.
    void join() {
        Burst& burst = writes.back();
        if (write_beat != burst.beats)
            return violate(W, "last must be on beat %u, not %u", burst.beats, write_beat);
        std::memcpy(burst.data, early, burst.beats * p.bytes);
        finish(burst);
        w_whole = false;
    }

    void finish(Burst& burst) {
        burst.due = monitor.cycle + settings.write_latency;
        write_beat = 0;
        ++answers;
    }

    void make_noise(uint8_t* data) {
        for (unsigned i = 0; i < p.bytes; i += 4) {
            const uint32_t word = next(noise) >> 32;
            std::memcpy(data + i, &word, 4);
        }
    }

    const Buffer* find(uint64_t address, uint64_t size) const {
        for (const Buffer& buffer : buffers)
            if (address >= buffer.address && address - buffer.address + size <= buffer.size)
                return &buffer;
        return nullptr;
    }

    bool open(Channel channel) {
        if (faults.stands_still(channel, monitor.cycle)) return false;
        if (settings.pause && (monitor.cycle + phases[channel]) % settings.period < settings.pause)
            return false;
        if (!settings.stall) return true;
        return (next(random) >> 32 & 0xFFFF) >= settings.stall;
    }

    void moved(Channel channel) {
        ++beats[channel];
        last[channel] = monitor.progress = monitor.cycle;
    }

    __attribute__((format(printf, 3, 4))) void violate(Channel channel, const char* format, ...) {
        if (!monitor.violation.empty()) return;
        char rule[256], text[320];
        va_list arguments;
        va_start(arguments, format);
        std::vsnprintf(rule, sizeof rule, format, arguments);
        va_end(arguments);
        std::snprintf(text, sizeof text, "clock %" PRIu64 ": %s %s: %s", monitor.cycle, p.name,
                      channel_names[channel], rule);
        monitor.violation = text;
    }

    static constexpr uint32_t one = 1 << 16;
    const MasterPorts p;
    const Settings settings;
    Monitor& monitor;
    uint64_t random, noise;
    uint64_t phases[CHANNELS];
    Faults faults;
    uint64_t beats[CHANNELS] = {}, last[CHANNELS] = {};
    uint32_t read_credit = one, write_credit = one;
    std::deque<Burst> reads, writes;         // accepted, not yet wholly answered
    uint32_t read_beat = 0, write_beat = 0;  // beats done of the burst in hand
    size_t answers = 0;                      // the first ones of `writes`, with all data
    Held ar_held, aw_held;
    uint32_t aw_waited = 0, w_waited = 0;  // clocks for which an address, a beat was not taken
    bool r_shown = false, b_shown = false, w_stalled = false;
    bool w_whole = false;  // `early` has all of a burst's data; its address is still to be taken
    uint8_t w_last = 0, w_data[64] = {}, early[4096];
};

}  // namespace rlfabric
