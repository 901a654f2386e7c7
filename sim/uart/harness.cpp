// A Verilated board with a serial line: bytes in and out, bit by bit at its pins rx and tx.
#include <cstdint>

#include "Vtop.h"
#include "verilated.h"

#define API extern "C" __attribute__((visibility("default")))

namespace {

constexpr int LEDS = 7;

struct Board {
    VerilatedContext context;
    Vtop top{&context};
    const uint32_t divisor;
    // Bits of the byte on rx, the one that shows lowest, a mark on top; clocks left of that one.
    uint32_t sending = 0, send_timer = 0;
    // Bits of the byte on tx: those that came, and how many; clocks until the next is looked at.
    uint32_t received = 0, receive_count = 0, receive_timer = 0;
    // Since they were asked for: clocks, and those in which each LED was on.
    uint64_t clocks = 0, lit[LEDS] = {};

    explicit Board(uint32_t divisor) : divisor(divisor) {
        top.rx = 1;
        top.rst = 1;
        for (int k = 0; k < 3; ++k) clock();
        top.rst = 0;
    }

    void clock() {
        top.clk = 0;
        top.eval();
        top.clk = 1;
        top.eval();
        ++clocks;
        for (int k = 0; k < LEDS; ++k) lit[k] += top.leds >> k & 1;
    }

    // One clock of the line towards the board; true if it took a byte from the caller.
    bool send(bool have, uint8_t byte) {
        if (send_timer) {
            --send_timer;
            return false;
        }
        if (sending > 0b11) {  // the stop bit and the mark behind it
            sending >>= 1;
            top.rx = sending & 1;
            send_timer = divisor - 1;
            return false;
        }
        if (!have) return false;
        sending = 1u << 10 | 1u << 9 | uint32_t(byte) << 1;
        top.rx = 0;
        send_timer = divisor - 1;
        return true;
    }

    // One clock of the line from the board; true if ``byte`` has come.
    bool receive(uint8_t* byte) {
        if (!receive_count) {
            if (top.tx) return false;
            receive_count = 1;
            receive_timer = divisor + divisor / 2;
            received = 0;
            return false;
        }
        if (--receive_timer) return false;
        receive_timer = divisor;
        if (receive_count == 9) {
            receive_count = 0;
            *byte = uint8_t(received);
            return top.tx;
        }
        received |= uint32_t(top.tx) << (receive_count++ - 1);
        return false;
    }
};

}  // namespace

API Board* board_open(uint32_t divisor) { return new Board(divisor); }
API void board_brightness(Board* board, double* shares) {
    for (int k = 0; k < LEDS; ++k) {
        shares[k] = double(board->lit[k]) / double(board->clocks);
        board->lit[k] = 0;
    }
    board->clocks = 0;
}
API void board_close(Board* board) {
    board->top.final();
    delete board;
}
// Runs at most ``clocks`` clocks, fewer if ``out`` is full; returns the bytes that came, and in
// ``taken`` how many of ``in`` went onto the line.
API uint64_t board_run(Board* board, uint64_t clocks, const uint8_t* in, uint64_t in_count,
                       uint8_t* out, uint64_t out_room, uint64_t* taken) {
    uint64_t sent = 0, count = 0;
    while (clocks-- && count < out_room) {
        if (board->send(sent < in_count, sent < in_count ? in[sent] : 0)) ++sent;
        board->clock();
        if (board->receive(out + count)) ++count;
    }
    *taken = sent;
    return count;
}
