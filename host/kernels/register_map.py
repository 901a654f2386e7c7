"""The document beside the Verilog: registers and buffers, from the same tables as the hardware."""

from hw.shell.control_map import CONTROL, STOP
from hw.shell.program import PAGE_BYTES
from hw.shell.reset import RESET_LATENCY
from hw.shell.status_block import STATUS

__all__ = ["document"]

_ACCESS = {"r": "read", "w": "written", "rw": "read and written"}

_MEMORY = f"""\
A buffer is a pointer and a size. The pointer is a multiple of 64. The size counts bytes
(`<name>_bytes`), or pages of {PAGE_BYTES} (`<name>_pages`) if 32 bits would not hold the bytes; the
kernel stays inside of the buffer.

The kernel reads and writes whole beats of a buffer's master. The bytes of a command are rounded up
to whole beats, which must lie inside of the buffer. So give sizes in whole beats; a multiple of 64
is a whole number of beats on every master. An offset in a command is a multiple of 64, even if the
command moves nothing.

If memory answers a command with an error, the command ends with `axi`, whatever other error it has
found. Any of the bytes that it was to write may have been written, and no others; its description
says which part of the kernel's state it may have changed. The commands before it are done, and the
commands after it are not run. The status block is written all the same; if this write fails too,
the launch ends without a report.

A launch whose status buffer is too small, or not at a multiple of 64, ends and writes nothing.
"""

_RESET = f"""\
`ap_rst_n` may come only while no burst is under way on any master, as between launches, or together
with a reset of everything that answers the masters: the kernel cannot distinguish beats that were
requested before a reset from those after it. So a launch that stands still is ended by a reset of
the whole card, which lasts at least {RESET_LATENCY + 1} clocks, until the masters are silent. After
it the kernel is as after loading; memory keeps its bytes.
"""


def _table(heads, rows):
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines) + "\n"


def _fields(config, prefix=""):
    for name, value in config.items():
        if isinstance(value, dict):
            yield from _fields(value, f"{prefix}{name}.")
        else:
            yield f"`{prefix}{name}`", f"`{value}`"


def _bits(register):
    return "; ".join(f"bit {bit.bit} `{bit.name}`, {bit.doc}" for bit in register.bits)


def _what(argument):
    """An argument in words."""
    if argument.kind == "pointer":
        return f"buffer, {_ACCESS[argument.access]} through `{argument.master}`"
    if not argument.buffer:
        return "commands"
    unit = "bytes" if argument.unit == 1 else f"pages of {argument.unit} bytes"
    return f"{unit} of `{argument.buffer}`"


def document(description, documents, errors, *, heading, schedule="", config=None):
    """The text of ``registers.md``, which describes a kernel's registers, buffers, commands and
    errors.

    Parameters
    ----------
    description : KernelDescription
        Gives the kernel's registers and buffers.
    documents : dict[str, Iterable[Layout]]
        Name of a section -> the design's own tables in it: commands, records, its status block.
    errors : dict[int, tuple[str, str]]
        Code of an error -> its name and its meaning.
    heading : str
        The title, in the first line.
    schedule : str
        When the kernel's units act, as Markdown; "" if the design has no such picture.
    config : ConfigBase
        The kernel's config, on which limits of fields may depend.
    """
    arguments = [
        (each.id, f"`{each.name}`", f"{each.offset:#05x}", each.size, _what(each))
        for each in description.arguments
    ]
    masters = [
        (f"`{master.name}`", master.data_width, master.data_width // 8, _ACCESS[master.access],
         ", ".join(f"`{name}`" for name in master.arguments))
        for master in description.masters
    ]  # fmt: skip
    stops = any(layout.name == "PLAY" for layout in documents.get("Commands", ()))
    registers = (*CONTROL, STOP) if stops else CONTROL
    parts = [
        f"# {heading}\n",
        f"Kernel `{description.name}`, config hash `{description.config_hash:#018x}`. "
        "Everything is little-endian.\n",
        "## Registers\n",
        "AXI4-Lite slave `s_axi_control`, protocol `ap_ctrl_hs`: write the arguments, then 1 to "
        "CTRL; wait for ap_done.\n",
        _table(["offset", "register", "meaning"],
               [(f"{r.offset:#04x}", f"`{r.name}`", f"{r.doc}: {_bits(r)}") for r in registers]),
        _table(["id", "argument", "offset", "bytes", "what"], arguments),
        "## Masters\n",
        _table(["AXI4 master", "data bits", "bytes of a beat", "buffers are", "buffers"], masters),
        "## Memory\n",
        _MEMORY,
        "## Reset\n",
        _RESET,
        "## Programs\n",
        "`program` is `command_count` commands of 64 bytes each, run in order. The first that "
        "fails ends the launch.\n",
    ]  # fmt: skip
    for section, layouts in documents.items():
        parts += [f"## {section}\n", *(layout.markdown(config) for layout in layouts)]
    if schedule:
        parts += ["## Schedule\n", schedule]
    codes = [(int(code), f"`{name}`", doc) for code, (name, doc) in sorted(errors.items())]
    parts += [
        "## Status block\n",
        "`status` receives this, then the design's own status.\n",
        STATUS.markdown(),
        "## Errors\n",
        _table(["code", "name", "meaning"], codes),
        "## Config\n",
        _table(["field", "value"], _fields(description.config)),
    ]
    return "\n".join(parts)
