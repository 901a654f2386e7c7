"""A ``CommandCore`` of the small table whose design is the bench: its ``Dispatcher`` has pins."""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, connect, flipped
from shell.small_table import CONFIG, STATE, TABLE, buffers

from hw.shell.buffers import HOST
from hw.shell.core import CommandCore
from hw.shell.dispatcher import Dispatcher
from hw.shell.layout import Layout

__all__ = ["DispatcherTop"]

#: What the base core leaves to a design.
_DESIGN = (
    "state", "raw", "selected", "stages", "beats", "start", "fetch", "reply", "replied",
    "failed", "finish", "error", "detail", "words", "reply_words",
)  # fmt: skip


def _join(m, outer, inner, signature, names):
    """The members ``names`` of ``inner``, of this signature, are pins of ``outer``."""
    for name in names:
        member, pin, own = signature.members[name], getattr(outer, name), getattr(inner, name)
        if member.is_signature:
            connect(m, flipped(pin), own)
        elif Shape.cast(member.shape).width:
            own, pin = Value.cast(own), Value.cast(pin)
            m.d.comb += own.eq(pin) if member.flow == In else pin.eq(own)


class _Core(CommandCore):
    COMMANDS, STATUS = TABLE, Layout("Status", "", (), size=64)

    def __init__(self, top):
        self.top = top
        super().__init__(CONFIG)

    @classmethod
    def buffers_of(cls, config):
        return tuple(buffer for buffer, _ in list(buffers(16).values())[2:])

    @staticmethod
    def state_layout(config):
        return STATE

    def execute(self, m, run):
        _join(m, self.top, run, run.signature, _DESIGN)
        for port in (self.heap_read, self.scratch_read):
            m.d.comb += port.data.ready.eq(self.top.taking)
        for port in (self.heap_write, self.scratch_write):
            m.d.comb += port.done.ready.eq(self.top.taking)


class DispatcherTop(wiring.Component):
    """Members of the core; of its dispatcher what is a design's; ``taking``: what comes from other
    memories than the host's is taken.
    """

    def __init__(self):
        self.widths = {HOST: 128, "heap": 256, "scratch": 128}
        self.core = _Core(self)
        self.run = Dispatcher(TABLE, CONFIG, STATE, buffers(16), self.widths[HOST])
        members = dict(self.core.signature.members)
        members |= {name: self.run.signature.members[name] for name in _DESIGN}
        super().__init__({**members, "taking": In(1)})

    def elaborate(self, platform):
        m = Module()
        m.submodules.core = core = self.core
        _join(m, self, core, core.signature, core.signature.members)
        return m
