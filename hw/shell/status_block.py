"""The status block: what a kernel writes to memory at the end of a launch.

It begins with the shell's part, STATUS; the design's own block follows.
"""

from amaranth import *

from hw.shell.layout import Field, Layout

__all__ = ["MAGIC", "STATUS", "write_status"]

MAGIC = 0x524C4641  # "RLFA"

STATUS = Layout(
    "Status",
    "Written by the shell at the end of a launch.",
    (
        Field("magic", "u32", "0x524c4641"),
        Field("executed", "u32", "commands that finished without an error"),
        Field("config_hash", "u64", "hash of the kernel's config, layouts, opcodes and errors"),
        Field("error", "u32", "0, or why the launch stopped early"),
        Field("error_command", "u32", "position in the program of the command that failed"),
        Field("error_detail", "u32", "position of the item that failed, where the error has one"),
        Field("reserved", "u32", "0"),
        Field("cycles", "u64", "clocks from start to the writing of this block"),
    ),
    size=64,
)


def write_status(m, sequencer, header, cycles):
    """Adds the last states of the sequencer's FSM: STATUS, SEND, WAIT. They write the status block
    to memory, wait for memory's answer, pulse ``done`` of the sequencer, and go to IDLE.

    The block is not copied first, because it does not change: no command runs any more.

    Parameters
    ----------
    m : Module
        The sequencer's module, inside its ``m.FSM()``.
    sequencer : Sequencer
        Its ``write`` takes the block to ``status_address``; its ``status`` is the design's part.
    header : Signal of STATUS
        The shell's part.
    cycles : Signal(64)
        Clocks since the launch's start, copied to ``header`` as the block is begun.
    """
    write, block = sequencer.write, Cat(header, sequencer.status)
    words = len(block) // sequencer.data_width
    sent = Signal(range(words))
    m.d.comb += [
        write.request.p.address.eq(sequencer.status_address),
        write.request.p.beats.eq(words),
        # Selected; ``word_select`` by a signal would shift the whole block.
        write.data.payload.eq(
            Array(block.word_select(word, sequencer.data_width) for word in range(words))[sent]
        ),
    ]
    with m.State("STATUS"):
        m.d.comb += write.request.valid.eq(1)
        m.d.sync += [sent.eq(0), header.cycles.eq(cycles)]
        with m.If(write.request.ready):
            m.next = "SEND"
    with m.State("SEND"):
        m.d.comb += write.data.valid.eq(1)
        with m.If(write.data.ready):
            m.d.sync += sent.eq(sent + 1)
            with m.If(sent == words - 1):
                m.next = "WAIT"
    with m.State("WAIT"):
        m.d.comb += write.done.ready.eq(1)
        with m.If(write.done.valid):
            m.d.comb += sequencer.done.eq(1)
            m.next = "IDLE"
