"""What the walk tells a core in each pass of an iteration: a list each of fetches, rows, steps."""

import numpy as np
from packed import packed

from hw.fixar.layouts import Layouts
from hw.fixar.plan import Kind, Result, plan
from hw.fixar.precision import slots

__all__ = ["Walk"]


class Walk:
    """Passes of ``core`` in a batch of ``batch``, with ``precision``.

    weights : name -> set ("online", "target") -> of each layer (weights [outputs, inputs of the
        frame that have any], biases), operands of the array, in the order of the frame.
    """

    def __init__(self, config, precision, batch, core, weights):
        self.config, self.precision, self.batch, self.core = config, precision, batch, core
        self.weights, self.layouts = weights, Layouts(config)
        self.half_x, self.half_e = precision.activations, precision.errors
        self.words = config.groups(batch, self.half_x)
        self.error_words = config.groups(batch, self.half_e)

    def passes(self):
        """A dict for every pass of the plan, for ``aap_bench``."""
        return [self.one(p) for p in plan(self.config)]

    def one(self, p):
        shifts, errors = self.precision.activation_shifts, self.precision.error_shifts
        backward = p.kind == Kind.DX
        stream, code = (errors, errors) if backward else (shifts, shifts)
        half, result_half = (self.half_e, self.half_e) if backward else (self.half_x, self.half_x)
        last = len(self.config.hidden)
        tanh = p.result == Result.TANH
        fields = dict(
            kind=p.kind,
            result=p.result,
            version=p.destination if tanh else p.version,
            network=p.network,
            target=p.target,
            frame=p.frame,
            half_x=self.half_x,
            half_e=self.half_e,
            words=self.words,
            error_words=self.error_words,
            outer=p.tiles or (p.layer.input_tiles if backward else p.layer.output_tiles),
            source=p.source,
            errors=p.errors,
            mask=p.mask * self.config.samples,
            destination=0 if tanh else p.destination * self.config.samples,
            lanes=self._lanes(p),
            shift=stream[p.source_slot] if half else 0,
            code_shift=code[p.result_slot] if result_half and p.result != Result.UPDATE else 0,
            code_cut=0 if backward else (1 << 16 - self.precision.activation_bits) - 1,
            seed_shift=errors[last] if self.half_e else 0,
            frame_shift=shifts[0] if self.half_x else 0,
            range_slot=p.result_slot + (slots(self.config)[0] if backward else 0),
        )
        name = list(self.config.networks)[p.network]
        pairs = self.weights[name]["target" if p.target else "online"]
        w, b = pairs[self.config.networks[name].index(p.layer)]
        made = dict(fetches=[], rows=[], steps=[], begins=[], gap=1)
        getattr(self, f"_{p.kind.name.lower()}")(p, w, b, made)
        if p.result in (Result.TANH, Result.SLOPE):
            made["gap"] = max(2, min(self.config.side, self.config.action))
        pack = self._pack
        return dict(
            name=f"{name} {p.kind.name} {p.result.name}",
            pass_=pack(self.layouts.PASS, fields),
            fetches=[pack(self.layouts.FETCH, dict(valid=1, **f)) for f in made["fetches"]],
            # Of tiles: rows, each for its port.
            tiles=[
                [
                    pack(self.layouts.TILE_READ if p.kind == Kind.DW else self.layouts.ROW, row)
                    for row in tile
                ]
                for tile in made["rows"]
            ],
            port="tile" if p.kind == Kind.DW else "row",
            steps=[pack(self.layouts.STEP, dict(valid=1, **s)) for s in made["steps"]],
            swaps=[s["swap"] for s in made["steps"]],
            takes=[not s["ones"] for s in made["steps"]],
            slow=[s["last"] for s in made["steps"]],
            begins=[self._begin(begin) for begin in made["begins"]],
            gap=made["gap"],
        )

    @staticmethod
    def _pack(layout, fields):
        return packed(layout, {k: int(v) if np.isscalar(v) else v for k, v in fields.items()})[0]

    @staticmethod
    def _begin(values):
        return sum((int(v) % (1 << 47)) << (47 * k) for k, v in enumerate(values))

    def _lanes(self, p):
        side = self.config.side
        wide = p.layer.inputs if p.kind == Kind.DX else p.layer.outputs
        if p.result == Result.SLOPE:
            wide = self.config.action
        return (1 << (wide - 1) % side + 1) - 1

    def _step(self, made, index, *, swap=0, first, last, ones=0):
        made["steps"].append(dict(swap=swap, index=index, first=first, last=last, ones=ones))

    def _x_fetch(self, p, tile, t):
        """Of word ``t`` of a tile of features."""
        side, samples, action = self.config.side, self.config.samples, self.config.action
        blank = t >= self.words
        place = tile * samples + (0 if blank else t)
        version = max(p.version, 1) - 1
        merged = p.frame and tile * side < action
        base = version * self.layouts.regions.action_words * samples
        # What is not read may be what nothing has written.
        address = self.layouts.x_depth - 1 if blank else p.source * samples + place
        return dict(
            address=address,
            action_address=base + place if merged else 0,
            merged=merged,
            whole=merged and (tile + 1) * side <= action,
            blank=blank,
        )

    def _tile(self, block):
        """Rows of a tile of weights: what is beyond the matrix is zeros."""
        side = self.config.side
        rows = np.zeros((side, side), np.int64)
        rows[: block.shape[0], : block.shape[1]] = block
        bands = rows.reshape(-1, self.config.port_words, side)
        return [dict(valid=1, band=k, words=band.tolist()) for k, band in enumerate(bands)]

    def _fw(self, p, w, b, made):
        side, layer = self.config.side, p.layer
        framed = np.zeros((layer.outputs, layer.frame), np.int64)
        framed[:, layer.first :] = w
        shift = self.precision.activation_shifts[p.source_slot] if self.half_x else 0
        for c in range(layer.output_tiles):
            begin = np.zeros(side, object)
            own = b[c * side : (c + 1) * side]
            begin[: len(own)] = [int(v) << 20 - shift for v in own]
            made["begins"].append(begin)
            for i in range(layer.input_tiles):
                block = framed[c * side : (c + 1) * side, i * side : (i + 1) * side]
                made["rows"].append(self._tile(block.T))
                for t in range(self.words):
                    made["fetches"].append(self._x_fetch(p, i, t))
                    first, last = i == 0, i == layer.input_tiles - 1
                    self._step(made, t, swap=t == 0, first=first, last=last)

    def _dx(self, p, w, b, made):
        side, layer, samples = self.config.side, p.layer, self.config.samples
        wanted = w[:, : self.config.action] if p.result == Result.SLOPE else w
        for o in range(p.tiles or layer.input_tiles):
            for i in range(layer.output_tiles):
                block = wanted[i * side : (i + 1) * side, o * side : (o + 1) * side]
                made["rows"].append(self._tile(block))
                for t in range(self.error_words):
                    address = (p.source + i) * samples + t
                    made["fetches"].append(dict(address=address))
                    first, last = i == 0, i == layer.output_tiles - 1
                    self._step(made, t, swap=t == 0, first=first, last=last)

    def _dw(self, p, w, b, made):
        side, layer = self.config.side, p.layer
        groups = -(-self.words // side)
        for c in range(layer.output_tiles):
            for g in range(groups):
                made["rows"].append(self._errors(p, c, g))
                first, last = g == 0, g == groups - 1
                for i in range(layer.input_tiles):
                    for k in range(side):
                        made["fetches"].append(self._x_fetch(p, i, g * side + k))
                        index = i * side + k
                        self._step(made, index, swap=index == 0, first=first, last=last)
                self._step(made, layer.input_tiles * side, first=first, last=last, ones=1)

    def _errors(self, p, c, g):
        """Reads of a tile of errors: of both operands at once, or of one after the other."""
        side, rows = self.config.side, []
        for k in range(side):
            word = g * side + k
            for half in range(1 + self.half_x):
                at = word if self.half_e or not self.half_x else 2 * word + half
                blank = word >= self.words or at >= self.error_words
                rows.append(
                    dict(
                        valid=1,
                        address=self.layouts.e_depth - 1
                        if blank
                        else (p.errors + c) * self.config.samples + at,
                        row=k,
                        mask=1 << half if self.half_x else 3,
                        select=half and self.half_e,
                        blank=blank,
                    )
                )
        return rows
