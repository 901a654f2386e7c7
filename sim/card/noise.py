"""A kernel's Verilog with a switch for noise: with it, everything that hardware leaves open is
random.

If the switch is off, the Verilog behaves as before. If it is on, registers and RAM begin with
random bits instead of their values after power-up, because a reset during work may find anything in
them; and a read of a RAM returns random bits if it meets a write of the same word. The Verilog for
boards has no switch.
"""

import re

from hw.errors import UsageError

__all__ = ["collisions", "switched"]

#: ``noise`` is 0 while the switch is off. Else its upper half is what collisions bring: the harness
#: sets it before the first clock, and to another number in each.
_PACKAGE = """package rlfabric_card;
  longint unsigned noise /*verilator public_flat_rw*/;
endpackage
"""
_ON = "rlfabric_card::noise != 0"
_COLLISION = "{((WIDTH + 31) / 32){rlfabric_card::noise[63:32]}}"
_LOOP = "/*verilator unroll_disable*/ for"
#: The module of a RAM, its read, and its read where a write may meet it.
_RAM = "module rlfabric_ram #"
_READ = "if (read_enable) read_data <= memory[read_address];"
_SPOILT = (
    "if (read_enable) read_data <= {when}write_enable && write_address == read_address"
    " ? {word} : memory[read_address];"
)
_BEGIN = """    localparam WORDS = (WIDTH + 31) / 32;
    reg [32 * WORDS - 1:0] begun;
    initial if ({on}) begin
        {loop} (int k = 0; k < DEPTH; k++) begin
            {loop} (int b = 0; b < WORDS; b++) begun[32 * b +: 32] = $urandom();
            memory[k] = begun[WIDTH-1:0];
        end
        read_data = memory[0];
    end
"""
_MODULE = re.compile(r"^module .*?^endmodule\n", re.M | re.S)
#: Of a register: declaration, bits, name, first value. Of a memory: all before its first values,
#: bits, name, words.
_REGISTER = re.compile(r"^(  reg (?:\[(\d+):0\] )?)(\\\S+ |\w+)( = .*;)\n", re.M)
_MEMORY = re.compile(
    r"^(  reg (?:\[(\d+):0\] )?(\\\S+ |\w+) \[(\d+):0\];\n  initial )begin\n", re.M
)
_WRITTEN = re.compile(r"^ +(\\\S+ |\w+)\[[^;=]*\] <= ", re.M)


def switched(verilog):
    """The text ``verilog`` with a switch for noise, which is off at first."""
    text = collisions(verilog, _COLLISION, when=f"{_ON} && ")
    return _PACKAGE + _MODULE.sub(lambda module: _begun(module[0]), text)


def collisions(verilog, word, when=""):
    """The text ``verilog``, changed so that a read of a RAM returns ``word`` if the same address is
    written in the same clock.

    ``word`` is a Verilog expression. ``when`` is a further condition, which must end in ``&& ``;
    empty: always. ValueError if a RAM in the text does not read as expected.
    """
    if verilog.count(_READ) != verilog.count(_RAM):
        raise UsageError(f"rlfabric_ram must read by {_READ!r}, once")
    return verilog.replace(_READ, _SPOILT.format(word=word, when=when))


def _begun(module):
    """The module, in which registers and written memories begin with random bits if the switch is
    on. Memories that nothing writes are tables."""
    if module.startswith(_RAM):
        return module.replace("endmodule", f"{_BEGIN.format(on=_ON, loop=_LOOP)}endmodule")
    written, noise, values = set(_WRITTEN.findall(module)), [], []

    def register(found):
        declared, top, name, value = found.groups()
        noise.append(_noise(name, top))
        values.append(name + value)
        return f"{declared}{name};\n"

    def memory(found):
        before, top, name, last = found.groups()
        if name not in written:
            return found[0]
        noise.append(f"{_LOOP} (int k = 0; k <= {last}; k++) begin {_noise(f'{name}[k]', top)} end")
        return f"{before}if (!({_ON})) begin\n"

    module = _MEMORY.sub(memory, _REGISTER.sub(register, module))
    if not noise:
        return module
    # A line each: Verilator takes 40 000 tokens a line at most.
    lines = "\n".join([*noise, "end else begin", *values])
    return module.replace("endmodule", f"  initial if ({_ON}) begin\n{lines}\n  end\nendmodule")


def _noise(name, top):
    """Statements that fill ``name``, of bits ``top`` to 0."""
    whole, rest = divmod(int(top or 0) + 1, 32)
    if not whole:
        return f"{name} = $urandom();"
    text = f"{_LOOP} (int b = 0; b < {whole}; b++) {name}[32 * b +: 32] = $urandom();"
    return f"{text} {name}[{top} -: {rest}] = $urandom();" if rest else text
