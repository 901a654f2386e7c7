"""The document beside the Verilog: registers and buffers, from the tables that made them."""

from hw.shell.control_map import CONTROL
from hw.shell.program import STATUS

__all__ = ["document"]


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


def document(description, documents, errors, *, heading, config=None):
    """``registers.md`` as text.

    Parameters
    ----------
    description : KernelDescription
    documents : dict[str, Iterable[Layout]]
        The design's own tables by section: commands, records, its status block.
    errors : dict[int, tuple[str, str]]
        Code: name and meaning.
    heading : str
        First line.
    config : ConfigBase
        The kernel's, on which limits of fields may depend.
    """
    arguments = [
        (argument.id, f"`{argument.name}`", f"{argument.offset:#05x}", argument.size,
         f"buffer, through `{argument.master}`" if argument.kind == "pointer" else "number")
        for argument in description.arguments
    ]  # fmt: skip
    masters = [
        (f"`{master.name}`", master.data_width, ", ".join(f"`{a}`" for a in master.arguments))
        for master in description.masters
    ]
    parts = [
        f"# {heading}\n",
        f"Kernel `{description.name}`, config hash `{description.config_hash:#018x}`. "
        "Everything is little-endian.\n",
        "## Registers\n",
        "AXI4-Lite slave `s_axi_control`, protocol `ap_ctrl_hs`: write the arguments, then 1 to "
        "CTRL; wait for ap_done.\n",
        _table(["offset", "register", "meaning"],
               [(f"{r.offset:#04x}", f"`{r.name}`", f"{r.doc}: {_bits(r)}") for r in CONTROL]),
        _table(["id", "argument", "offset", "bytes", "what"], arguments),
        "## Masters\n",
        _table(["AXI4 master", "data bits", "buffers"], masters),
        "## Programs\n",
        "`program` is `command_count` commands of 64 bytes each, run in order. The first that "
        "fails ends the launch.\n",
    ]  # fmt: skip
    for section, layouts in documents.items():
        parts += [f"## {section}\n", *(layout.markdown(config) for layout in layouts)]
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
