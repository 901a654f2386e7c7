"""Runs inside the simulator: loads, stores and updates of a layer's parameters."""

import cocotb
from cocotb.triggers import ReadOnly, RisingEdge
from driving import within
from streams import get_all, put_all

__all__ = ["Scans", "words"]


def words(texts):
    return [int(text, 16) for text in texts]


class Scans:
    """With ``load``, ``store``, ``update``, ``parameter_set``, ``busy``, as ``LayerParameters``.

    Parameters
    ----------
    estimate : dict
        Of ``LayerParameters``: clocks of each scan, which those without gaps must take.
    i, o : str
        The streams of stored and loaded words.

    Attributes
    ----------
    saturations : int
        Sum of the port of this name; set it to 0 where counting is to begin.
    """

    def __init__(self, dut, estimate, i="i", o="o"):
        self.dut, self.estimate, self.i, self.o = dut, estimate, i, o
        self.limit = 20 * (estimate["store"] + estimate["update"])
        self.clocks = self.saturations = 0
        cocotb.start_soon(self._watch())

    async def _watch(self):
        while True:
            await ReadOnly()
            self.clocks += int(self.dut.busy.value)
            if hasattr(self.dut, "saturations"):
                self.saturations += int(self.dut.saturations.value)
            await RisingEdge(self.dut.clk)

    async def load(self, kind, image, rng, gap=0.0):
        await self._pulse("load", kind)
        loaded = put_all(self.dut, self.i, image, rng, gap)
        await within(loaded, self.limit, f"{len(image)} loaded words")
        await self._finish("load", exact=not gap)

    async def store(self, kind, count, rng, gap=0.0):
        await self._pulse("store", kind)
        stored = get_all(self.dut, self.o, count, rng, gap)
        got = [word for (word,) in await within(stored, self.limit, f"{count} stored words")]
        getattr(self.dut, f"{self.o}__ready").value = 1
        await self._finish("store", exact=not gap)
        await ReadOnly()
        assert not int(getattr(self.dut, f"{self.o}__valid").value), "a word too many is stored"
        await RisingEdge(self.dut.clk)
        return got

    async def update(self, kind=0):
        """``kind`` is of no effect."""
        await self._pulse("update", kind)
        await self._finish("update", exact=True)

    async def measure(self):
        await self._pulse("measure", 0)
        await self._finish("measure", exact=True)

    async def check_images(self, images, rng, gap, when):
        """Store all sets; they must be ``images``, texts."""
        for kind, image in enumerate(images):
            expected = words(image)
            got = await self.store(kind, len(expected), rng, gap)
            wrong = [k for k in range(len(expected)) if got[k] != expected[k]]
            assert not wrong, (
                f"{when}: word {wrong[0]} of kind {kind} must be {expected[wrong[0]]:#x}, "
                f"not {got[wrong[0]]:#x} ({len(wrong)} of {len(expected)} differ)"
            )

    async def _pulse(self, name, kind):
        self.clocks = 0
        getattr(self.dut, name).value = 1
        self.dut.parameter_set.value = kind
        await RisingEdge(self.dut.clk)
        getattr(self.dut, name).value = 0
        self.dut.parameter_set.value = 3 - kind  # only looked at with the pulse

    async def _finish(self, what, *, exact):
        """Wait until not busy; the clocks that it took are those estimated."""
        for _ in range(self.limit):
            await ReadOnly()
            busy = int(self.dut.busy.value)
            await RisingEdge(self.dut.clk)
            if not busy:
                break
        else:
            raise AssertionError(f"busy must fall within {self.limit} clocks of {what}")
        for _ in range(3):
            await RisingEdge(self.dut.clk)
        if exact:
            assert self.clocks == self.estimate[what], f"{what} took {self.clocks} clocks"
