"""The signals that the walk sends to all cores: the pass under way, what to fetch, and what to do
with it."""

from amaranth import *
from amaranth.lib import data

from hw.fixar.config import CELL_WIDTH, MOST_CUT
from hw.fixar.plan import Kind, Regions, Result, Version, plan
from hw.fixar.precision import slots

__all__ = ["SHIFT_WIDTH", "Layouts", "cells_layout", "operands_layout", "rows_layout"]
__all__ += ["stream_words", "streams_pairs"]

#: Bits of a shift, of either kind.
SHIFT_WIDTH = 5


def cells_layout(side):
    """A word of cells."""
    return data.ArrayLayout(unsigned(CELL_WIDTH), side)


def operands_layout(config):
    """A word of weights as the operands of the arrays."""
    return data.ArrayLayout(config.arithmetic.operand.shape, config.side)


def rows_layout(config):
    """A band of a tile, which is ``port_words`` of its rows, from row ``band * port_words`` on: its
    number and the operands."""
    words = data.ArrayLayout(operands_layout(config), config.port_words)
    return data.StructLayout({"band": range(config.side // config.port_words), "words": words})


def streams_pairs(pass_):
    """Whether a word of a pass's stream holds two samples."""
    return Mux(pass_.kind == Kind.DX, pass_.half_e, pass_.half_x)


def stream_words(pass_):
    """Words of a pass's stream for each tile; in a DW, only those of X cells."""
    return Mux(pass_.kind == Kind.DX, pass_.error_words, pass_.words)


class Layouts:
    """Layouts for a FixarConfig, and the depths that they follow from.

    Attributes
    ----------
    samples : int
        The most samples of a core; word w of sample t lies at address ``w * samples + t`` of the
        cells.
    x_depth, e_depth, action_depth : int
        Words of the memories. Version v of the action's cells begins at ``(v - 1) * action_words *
        samples``.
    action_lanes : int
        Cells in a word of actions.
    PASS : the pass, steady while it runs
        ``kind``, ``result``, ``network``, ``target``, ``frame``: as in ``plan.Pass``; so is
        ``version``, but in a TANH it is the version that is written. ``half_x``, ``half_e``: X
        cells (activations), E cells (errors) hold codes of two samples. ``words``: words of a
        stream of X cells (samples, or pairs); ``error_words``: of E cells. ``outer``, ``inner``:
        turns of the loops over tiles; the result has ``outer`` words a sample. ``columns``: blocks
        of a DW's stream. ``source``, ``errors``, ``mask``, ``destination``: addresses of the first
        words in the cells. ``lanes``: a bit for each lane of a sample's last result word: it
        exists. ``shift``: shift of the codes that stream; ``error_shift``: of a DW's tiles;
        ``code_shift``: of the result's cells; ``code_cut``: a one for each of their codes' lowest
        bits that are 0. ``seed_shift``: of the cells of the errors that a
        VALUE begins. ``frame_shift``: of the frame's cells, and so of the actions that a SLOPE
        reads. ``range_slot``: slot of the result's range; slots of activations come first.
    FETCH : a word of what streams
        ``address``: its address in X cells, or in a DX in E cells. ``merged``: the lanes of the
        action come from ``action_address`` instead, or are zeros where the pass has no version;
        ``whole``: they are all lanes of this word. ``blank``: the word is zeros, whatever is
        stored.
    STEP : a word enters the array
        ``swap``: it is the first word of a tile. ``index``: number of the sum to which it is added.
        ``first``, ``last``: it is the first, the last word of this sum. ``ones``: the number 1
        takes the place of the word; there is no word.
    TILE_READ : a row of a DW's tile is read from E cells
        ``address``: of the word. ``row``: number of the row. ``select``: of a cell with two codes,
        the upper one is taken. ``mask``: a bit for each of a PE's two operands that it is for.
        ``blank``: the row is zeros, whatever is stored.
    """

    def __init__(self, config):
        side, regions = config.side, Regions(config)
        passes = plan(config)
        self.config, self.regions = config, regions
        self.samples = config.samples
        self.x_depth = regions.words * self.samples
        self.e_depth = regions.error_words * self.samples
        self.action_lanes = min(side, config.action)
        self.action_depth = 3 * regions.action_words * self.samples
        tiles = range(1 + max(max(p.layer.input_tiles, p.layer.output_tiles) for p in passes))
        self.index = range(max(self.samples, max(p.layer.input_tiles for p in passes) * side + 1))
        x, e = range(self.x_depth), range(self.e_depth)
        address = range(max(self.x_depth, self.e_depth, self.action_depth))
        action = range(self.action_depth)
        self.PASS = data.StructLayout(
            {
                "kind": Shape.cast(Kind),
                "result": Shape.cast(Result),
                "version": Shape.cast(Version),
                "network": 1,
                "target": 1,
                "frame": 1,
                "half_x": 1,
                "half_e": 1,
                "words": range(self.samples + 1),
                "error_words": range(self.samples + 1),
                "outer": tiles,
                "inner": range(max(tiles.stop, self.samples // side + 2)),
                "columns": tiles,
                "source": address,
                "errors": e,
                "mask": x,
                "destination": address,
                "lanes": side,
                "shift": SHIFT_WIDTH,
                "error_shift": SHIFT_WIDTH,
                "code_shift": SHIFT_WIDTH,
                "code_cut": MOST_CUT,
                "seed_shift": SHIFT_WIDTH,
                "frame_shift": SHIFT_WIDTH,
                "range_slot": range(sum(slots(config))),
            }
        )
        self.FETCH = data.StructLayout(
            {
                "valid": 1,
                "address": address,
                "action_address": action,
                "merged": 1,
                "whole": 1,
                "blank": 1,
            }
        )
        self.STEP = data.StructLayout(
            {"valid": 1, "swap": 1, "index": self.index, "first": 1, "last": 1, "ones": 1}
        )
        self.TILE_READ = data.StructLayout(
            {"valid": 1, "address": e, "row": range(side), "mask": 2, "select": 1, "blank": 1}
        )
        #: A band of a tile of weights.
        self.ROW = data.StructLayout({"valid": 1, **rows_layout(config).members})
