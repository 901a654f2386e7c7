// A Verilated kernel with its clock, its AXI4-Lite host and a memory on each AXI4 master, behind a
// few C functions for ctypes (verilated.py). Clocks are counted from the end of the reset.
// Inputs that nothing here has driven yet are 0.
#include "binding.hpp"
#include "Vtop_rlfabric_card.h"
#if VM_TRACE
#include "verilated_vcd_c.h"
#endif
#include <memory>

using namespace rlfabric;

namespace {

enum Outcome { RUNNING, DONE, STALLED, VIOLATION };

// Registers of the ap_ctrl_hs map.
constexpr uint32_t CTRL = 0x00, GIER = 0x04, IP_IER = 0x08, IP_ISR = 0x0C;
constexpr uint32_t AP_START = 1, AP_DONE = 2;

// Clocks that the control slave may take for one register access.
constexpr unsigned control_limit = 1000;

class Card {
public:
    Card(const Settings& settings, const char* trace)
        : top(&context) {
        const auto ports = master_ports(top);
        memories.reserve(ports.size());
        for (unsigned i = 0; i < ports.size(); ++i)
            memories.emplace_back(ports[i], i, settings, monitor);
#if VM_TRACE
        context.traceEverOn(true);
        top.trace(&vcd, 99);
        vcd.open(trace);
#else
        (void)trace;
#endif
        if (settings.noise) noise() = settings.seed * 2 + 1;
        context.randSeed(int(settings.seed ^ settings.seed >> 32) | 1);
        reset(16);
        monitor.cycle = 0;
        unmask();
    }

    ~Card() {
        // The thread's is that of the card that was opened last, which may be closed already.
        Verilated::threadContextp(&context);
        top.final();
        end_trace();
    }

    void end_trace() {
#if VM_TRACE
        if (vcd.isOpen()) vcd.close();
#endif
    }

    void write(uint32_t address, uint32_t value) {
        top.s_axi_control_awaddr = address, top.s_axi_control_awvalid = 1;
        top.s_axi_control_wdata = value, top.s_axi_control_wstrb = 15, top.s_axi_control_wvalid = 1;
        top.s_axi_control_bready = 1;
        for (unsigned i = 0; i < control_limit; ++i) {
            top.eval();
            const bool aw = top.s_axi_control_awready, w = top.s_axi_control_wready;
            const bool b = top.s_axi_control_bvalid;
            tick();
            top.s_axi_control_awvalid &= !aw, top.s_axi_control_wvalid &= !w;
            if (b) return void(top.s_axi_control_bready = 0);
        }
        fail_control("write", address);
    }

    uint32_t read(uint32_t address) {
        top.s_axi_control_araddr = address, top.s_axi_control_arvalid = 1;
        top.s_axi_control_rready = 1;
        for (unsigned i = 0; i < control_limit; ++i) {
            top.eval();
            const bool ar = top.s_axi_control_arready, r = top.s_axi_control_rvalid;
            const uint32_t data = top.s_axi_control_rdata;
            tick();
            top.s_axi_control_arvalid &= !ar;
            if (r) return top.s_axi_control_rready = 0, data;
        }
        fail_control("read", address);
        return 0;
    }

    void start() {
        write(CTRL, AP_START);
        started = monitor.progress = monitor.cycle;
    }

    // ap_rst_n is low for `clocks`, while the memories drop all that is under way. No other time
    // passes: `monitor.cycle` stands still.
    void reset(unsigned clocks) {
        top.ap_rst_n = 0;
        for (Memory& memory : memories) memory.reset();
        settle();
        for (unsigned i = 0; i < clocks; ++i) edge();
        top.ap_rst_n = 1;
        settle();
    }

    // Lets the end of a launch reach the interrupt.
    void unmask() {
        write(GIER, 1);
        write(IP_IER, 1);
    }

    Outcome run(uint64_t max_cycles, uint64_t max_idle) {
        const uint64_t end = monitor.cycle + max_cycles;
        while (!top.__SYM__interrupt) {  // Verilator's name: the plain one is a word of C++ compilers
            if (!monitor.violation.empty()) return VIOLATION;
            if (monitor.cycle - monitor.progress > max_idle) return STALLED;
            if (monitor.cycle >= end) return RUNNING;
            tick();
        }
        finished = monitor.cycle;
        write(IP_ISR, read(IP_ISR));
        if (!(read(CTRL) & AP_DONE)) fail("s_axi_control: interrupt without ap_done");
        return monitor.violation.empty() ? DONE : VIOLATION;
    }

    Monitor monitor;
    uint64_t started = 0, finished = 0;
    std::vector<Memory> memories;

private:
    // What the noise of a clock is made of, 0 for none: the switch of noise.py.
    QData& noise() { return top.__PVT__rlfabric_card->noise; }

    // Inputs changed after the last edge reach the outputs through combinational logic.
    void settle() {
        top.ap_clk = 0;
        top.eval();
        dump();
    }

    void edge() {
        next(noise());
        top.ap_clk = 1;
        top.eval();
        dump();
        for (Memory& memory : memories) memory.drive();
        settle();
    }

    void tick() {
        for (Memory& memory : memories) memory.sample();
        ++monitor.cycle;
        edge();
    }

    void dump() {
#if VM_TRACE
        if (!vcd.isOpen()) return;
        vcd.dump(time);
        time += 5;
#endif
    }

    void fail(const std::string& what) {
        if (monitor.violation.empty())
            monitor.violation = "clock " + std::to_string(monitor.cycle) + ": " + what;
    }

    void fail_control(const char* access, uint32_t address) {
        char text[80];
        std::snprintf(text, sizeof text, "s_axi_control: %s of 0x%x takes over %u clocks", access,
                      address, control_limit);
        fail(text);
    }

    VerilatedContext context;
    Vtop top;
#if VM_TRACE
    VerilatedVcdC vcd;
    uint64_t time = 0;
#endif
};

}  // namespace

#define API extern "C" __attribute__((visibility("default")))

API Card* card_open(const Settings* settings, const char* trace) {
    return new Card(*settings, trace);
}
API void card_close(Card* card) { delete card; }
API void card_end_trace(Card* card) { card->end_trace(); }
API void card_buffers(Card* card, uint32_t master, const Buffer* buffers, uint32_t count) {
    card->memories[master].buffers.assign(buffers, buffers + count);
}
API void card_write(Card* card, const uint32_t* offsets, const uint32_t* values, uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) card->write(offsets[i], values[i]);
}
API void card_reset(Card* card, uint32_t clocks) { card->reset(clocks), card->unmask(); }
API void card_start(Card* card) { card->start(); }
API int card_run(Card* card, uint64_t max_cycles, uint64_t max_idle) {
    return card->run(max_cycles, max_idle);
}
API uint64_t card_cycles(const Card* card) { return card->finished - card->started; }
API const char* card_violation(const Card* card) { return card->monitor.violation.c_str(); }
API void card_channels(const Card* card, ChannelState* out) {
    for (const Memory& memory : card->memories) memory.report(out), out += CHANNELS;
}
