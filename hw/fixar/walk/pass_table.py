"""The plan as a table in hardware: a pass by its number, with this batch's sizes and shifts."""

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.fixar.config import MOST_CUT
from hw.fixar.layouts import SHIFT_WIDTH, Layouts
from hw.fixar.plan import Kind, Result, plan
from hw.fixar.precision import slots

__all__ = ["PassTable"]


class PassTable(wiring.Component):
    """A table of the plan's passes: gives the pass ``number`` two clocks after its number.

    Parameters
    ----------
    config : FixarConfig

    Attributes
    ----------
    WEIGHTS : data.StructLayout
        The layer's ``base``: first word of its weights. In each of its tile columns, ``bias``: the
        place of the biases, which are the last of its words. ``first``: features of the frame that
        have no weights; ``end``: end of the features whose weights are needed.
    END : data.StructLayout
        What happens after the pass. ``observes``: the TD errors begin. ``decides``: the iteration
        waits for ``update``. ``ends``: no pass follows. ``seeds``: the pass has started errors
        of -1.

    Members
    -------
    number : In(range(passes))
        Position of the pass in ``plan``.
    half_activations, half_errors : In(1)
        Whether these are codes of 16 bits.
    activation_cut : In(8)
        A one for each of the lowest bits of an activation's code that are 0.
    activation_shifts, error_shifts : In([slots] of shifts)
        Shift of each slot's codes; 0 in full precision.
    samples, pairs : In
        How many samples of the batch core 0 has, and how many pairs of samples; rounded up.
    pass_ : Out(PASS), weights : Out(WEIGHTS), end : Out(END)
        The pass; the layer that it reads or updates; what happens at its end.
    """

    LATENCY = 2

    def __init__(self, config):
        self.config, self.layouts, self.plan = config, Layouts(config), plan(config)
        layers = [p.layer for p in self.plan]
        self.WEIGHTS = data.StructLayout(
            {
                "base": range(config.weight_words),
                "bias": range(max(layer.lead + layer.inputs for layer in layers) + 1),
                "first": range(max(layer.first for layer in layers) + 1),
                "end": range(max(layer.frame for layer in layers) + 1),
            }
        )
        self.END = data.StructLayout(dict.fromkeys(("observes", "decides", "ends", "seeds"), 1))
        activations, errors = slots(config)
        count = range(self.layouts.samples + 1)
        super().__init__(
            {
                "number": In(range(len(self.plan))),
                "half_activations": In(1),
                "half_errors": In(1),
                "activation_cut": In(MOST_CUT),
                "activation_shifts": In(SHIFT_WIDTH).array(activations),
                "error_shifts": In(SHIFT_WIDTH).array(errors),
                "samples": In(count),
                "pairs": In(count),
                "pass_": Out(self.layouts.PASS),
                "weights": Out(self.WEIGHTS),
                "end": Out(self.END),
            }
        )

    def elaborate(self, platform):
        m = Module()
        row = Signal(self._row_layout(), reset_less=True)
        with m.Switch(self.number):
            for number, each in enumerate(self.plan):
                with m.Case(number):
                    m.d.sync += row.eq(row.shape().const(self._row(number, each)))

        half_x, half_e = self.half_activations, self.half_errors
        activation_shifts, error_shifts = Array(self.activation_shifts), Array(self.error_shifts)
        words, error_words = Signal.like(self.samples), Signal.like(self.samples)
        groups = Signal.like(self.samples)
        shift = (self.config.side - 1).bit_length()
        forward, gradient = row.pass_.kind == Kind.FW, row.pass_.kind == Kind.DW
        m.d.comb += [
            words.eq(Mux(half_x, self.pairs, self.samples)),
            error_words.eq(Mux(half_e, self.pairs, self.samples)),
            groups.eq((words + (self.config.side - 1)) >> shift),
        ]
        # An action's cells, and those of errors, have the shift of where they go.
        codes_errors = (row.pass_.result == Result.ERROR) | (row.pass_.result == Result.SLOPE)
        m.d.sync += [
            self.pass_.eq(row.pass_),
            self.pass_.half_x.eq(half_x),
            self.pass_.half_e.eq(half_e),
            self.pass_.words.eq(words),
            self.pass_.error_words.eq(error_words),
            self.pass_.inner.eq(Mux(gradient, groups, row.pass_.inner)),
            self.pass_.shift.eq(
                Mux(
                    forward | gradient,
                    activation_shifts[row.source_slot],
                    error_shifts[row.error_slot],
                )
            ),
            self.pass_.error_shift.eq(error_shifts[row.error_slot]),
            self.pass_.code_shift.eq(
                Mux(
                    codes_errors,
                    error_shifts[row.result_slot],
                    activation_shifts[row.result_slot],
                )
            ),
            self.pass_.code_cut.eq(Mux(codes_errors, 0, self.activation_cut)),
            self.pass_.seed_shift.eq(error_shifts[len(self.config.hidden)]),
            self.pass_.frame_shift.eq(activation_shifts[0]),
            self.weights.eq(row.weights),
            self.end.eq(row.end),
        ]
        return m

    def _row_layout(self):
        return data.StructLayout(
            {
                "pass_": self.layouts.PASS,
                "weights": self.WEIGHTS,
                "end": self.END,
                "source_slot": range(max(slots(self.config))),
                "error_slot": range(max(slots(self.config))),
                "result_slot": range(max(slots(self.config))),
            }
        )

    def _row(self, number, each):
        """The fields that depend on neither batch nor precision."""
        layer, samples, side = each.layer, self.layouts.samples, self.config.side
        forward, errors = each.kind == Kind.FW, each.kind == Kind.DX
        outer = layer.input_tiles if errors else layer.output_tiles
        results = layer.outputs if forward else layer.frame
        if each.result == Result.SLOPE:
            outer, results = each.tiles, self.config.action
        lanes = results - (outer - 1) * side if not each.kind == Kind.DW else side
        return {
            "pass_": {
                "kind": each.kind,
                "result": each.result,
                "version": each.destination if each.result == Result.TANH else each.version,
                "network": each.network,
                "target": each.target,
                "frame": each.frame,
                "outer": outer,
                "inner": layer.input_tiles if forward else layer.output_tiles * errors,
                "columns": layer.input_tiles,
                "source": each.source * samples,
                "errors": each.errors * samples,
                "mask": each.mask * samples,
                "destination": 0 if each.result == Result.TANH else each.destination * samples,
                "lanes": (1 << lanes) - 1,
                "range_slot": each.result_slot + (slots(self.config)[0] if errors else 0),
            },
            "weights": {
                "base": layer.base,
                "bias": layer.lead + layer.inputs,
                "first": layer.first,
                "end": self.config.action if each.result == Result.SLOPE else layer.frame,
            },
            "end": {
                "observes": each.observes,
                "decides": each.decides,
                "ends": number == len(self.plan) - 1,
                "seeds": each.result == Result.VALUE,
            },
            "source_slot": 0 if errors else each.source_slot,
            "error_slot": each.source_slot if errors else each.error_slot,
            "result_slot": each.result_slot,
        }
