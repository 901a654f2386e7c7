// One memory with its AXI signals as plain fields, for memory_shim.py.
#include "memory.hpp"

using namespace rlfabric;

struct Signals {
    uint64_t awaddr, araddr;
    uint8_t awvalid, awready, awlen, awsize, awburst, awid;
    uint8_t arvalid, arready, arlen, arsize, arburst, arid;
    uint8_t wvalid, wready, wlast, bvalid, bready, bresp, rvalid, rready, rlast, rresp;
    uint8_t wstrb[8], wdata[64], rdata[64];
};

struct Shim {
    Signals s{};
    Monitor monitor;
    Memory memory;
    explicit Shim(const Settings& settings)
        : memory({"m_axi_test", 64,
                  {&s.awvalid, &s.awready, &s.awaddr, &s.awlen, &s.awsize, &s.awburst, &s.awid},
                  {&s.arvalid, &s.arready, &s.araddr, &s.arlen, &s.arsize, &s.arburst, &s.arid},
                  &s.wvalid, &s.wready, &s.wlast, s.wdata, s.wstrb,
                  &s.bvalid, &s.bready, &s.bresp,
                  &s.rvalid, &s.rready, &s.rlast, &s.rresp, s.rdata},
                 0, settings, monitor) {
        memory.drive();
    }
};

extern "C" {
Shim* shim_open(const Settings* settings, const Buffer* buffer) {
    Shim* shim = new Shim(*settings);
    shim->memory.buffers.push_back(*buffer);
    return shim;
}
Signals* shim_signals(Shim* shim) { return &shim->s; }
const char* shim_violation(Shim* shim) { return shim->monitor.violation.c_str(); }
void shim_clock(Shim* shim) {
    shim->memory.sample();
    ++shim->monitor.cycle;
    shim->memory.drive();
}
void shim_close(Shim* shim) { delete shim; }
}
