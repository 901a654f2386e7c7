"""The table of passes: what a compute unit does with each layer, as nests of loops.

FW computes a layer's outputs, GC (gradient calculation) its gradient, BW the errors of its inputs
(FA3C 4.3). A pass is a sequence of *sweeps*: the PEs hold rows of 16 words while the words of a
line pass them, one slot each clock. All that a pass reads and writes follows the same seven levels
of loops, outermost first. A unit's loops, its estimate and the document are made from this table.

level   FW conv   FW fc       GC conv        GC fc     BW conv           BW fc
  6     sample    .           group          group     sample            .
  5     row       .           tap row        .         input row         .
  4     group     group       block          block     channel group     input row of 16
  3     tap row   input row   sample         sample    tap row           group
  2     .         .           error row      .         tap column        .
  1     chunk     chunk       error column   .         chunk             chunk
  0     column    sample      chunk          chunk     column            sample

A *chunk* is ``lanes`` neighbouring words. Levels 3 to 1 add up: one round makes a *group* of sums,
which is then drained. The tap rows of BW are the tap rows that meet an error row
(``Taps``), so their number depends on the input row. If a tap row of GC has few chunks, a sweep
goes through several tap rows (``fold``), whose lines are filled together.
"""

from hw.fa3c.config import LINE_ROWS
from hw.fa3c.pass_types import BATCH, Kind, Nest, Pass, Segments, Source, Taps
from hw.fa3c.rows import ROW

__all__ = ["RETURN", "forward_passes", "layer_pass", "training_passes"]

#: Clocks after which a PE can add to the same slot again: it reads, adds, and writes the sum.
RETURN = 8

#: Layout of a config -> where the rows of BW come from.
_BACKWARD_SOURCES = {
    "tlu": Source.TRANSPOSED,
    "alt1": Source.COLUMNS,
    "alt2": Source.PARAMETERS,
}

#: Slots of a block of GC, at most, if a tap row, or a layer's inputs, take more than one block.
_GC_BLOCK_SLOTS = 24


def _forward(config, number, layer):
    lanes, base = config.lanes, config.parameter_bases[number]
    inputs, outputs = config.map_bases[number], config.map_bases[number + 1]
    groups, height, width = layer.groups, layer.out_height, layer.out_width
    common = dict(
        kind=Kind.FW,
        layer=number,
        last_slots=0,
        bias=False,
        line_level=3,
        last_rows=0,
        source=Source.PARAMETERS,
        relu=number < len(config.layers) - 1,
        taps=None,
    )
    if not layer.convolution:
        rows, chunks = layer.in_channels // layer.per_row, layer.per_row // lanes
        return Pass(
            words=Nest((1, 1, groups, rows, 1, chunks, BATCH), (0, 0, 0, 0, 0, 1, chunks)),
            slots=(0, 0, 0, 0, 0, 0, 1),
            partials=config.partials,
            hold=RETURN // config.partials,
            fill=Nest((1, 1, groups, rows, 1, BATCH), (0, 0, 0, 1, 0, layer.in_rows), inputs),
            rows=Nest(
                (1, 1, groups, rows, 1, 1, layer.per_row),
                (0, 0, layer.depth + 1, layer.per_row, 0, 0, 1),
            ),
            segments=Segments(base, (1, groups), (0, layer.group_rows), layer.depth + 1, False),
            drain=Nest((1, 1, groups, BATCH), (0, 0, 1, layer.out_rows), outputs),
            **common,
        )
    taps, line = layer.kernel * layer.in_channels, layer.line_rows
    chunks = taps // lanes
    return Pass(
        words=Nest(
            (BATCH, height, groups, layer.kernel, 1, chunks, width),
            (0, 0, 0, 0, 0, 1, layer.stride * layer.in_channels // lanes),
        ),
        slots=(0, 0, 0, 0, 0, 0, 1),
        partials=1,
        hold=RETURN,
        fill=Nest(
            (BATCH, height, groups, layer.kernel, 1, line),
            (layer.in_rows, layer.stride * line, 0, line, 0, 1),
            inputs,
        ),
        rows=Nest(
            (BATCH, height, groups, layer.kernel, 1, chunks, lanes),
            (0, 0, layer.group_rows, taps, 0, lanes, 1),
        ),
        segments=Segments(base, (1, 1), (0, 0), layer.rows, True),
        drain=Nest(
            (BATCH, height, groups, width), (layer.out_rows, width * groups, 1, groups), outputs
        ),
        **common,
    )


def _gradient(config, number, layer):
    lanes = config.lanes
    inputs, errors = config.map_bases[number], config.map_bases[number + 1]
    groups, height, width = layer.groups, layer.out_height, layer.out_width
    common = dict(
        kind=Kind.GC,
        layer=number,
        slots=(0, 0, 0, 0, 0, 0, 1),
        partials=1,
        hold=RETURN,
        bias=True,
        line_level=2,
        source=Source.ERRORS,
        segments=None,
        drain=None,
        relu=False,
        taps=None,
    )
    if not layer.convolution:
        rows, chunks = layer.in_channels // layer.per_row, layer.per_row // lanes
        line = min(max(1, _GC_BLOCK_SLOTS // chunks), rows)
        blocks = -(-rows // line)
        last = rows - (blocks - 1) * line
        counts = (groups, 1, blocks, BATCH, 1)
        return Pass(
            words=Nest((*counts, 1, line * chunks), (0, 0, 0, 0, 0, 0, 1)),
            last_slots=last * chunks,
            fill=Nest((*counts, line), (0, 0, line, layer.in_rows, 0, 1), inputs),
            last_rows=last,
            rows=Nest((*counts, 1, 1), (1, 0, 0, layer.out_rows, 0, 0, 0), errors),
            **common,
        )
    chunks = layer.kernel * layer.in_channels // lanes
    joined = _joined_rows(layer, chunks)
    line = joined * layer.line_rows
    size = joined * chunks if chunks < 32 else _GC_BLOCK_SLOTS
    blocks = -(-joined * chunks // size)
    counts = (groups, layer.kernel // joined, blocks, BATCH, height)
    return Pass(
        words=Nest(
            (*counts, width, size), (0, 0, size, 0, 0, layer.stride * layer.in_channels // lanes, 1)
        ),
        last_slots=joined * chunks - (blocks - 1) * size,
        fill=Nest(
            (*counts, line),
            (0, line, 0, layer.in_rows, layer.stride * layer.line_rows, 1),
            inputs,
        ),
        last_rows=0,
        fold=(chunks, layer.line_rows * layer.per_row // lanes) if joined > 1 else None,
        rows=Nest(
            (*counts, width, 1), (1, 0, 0, layer.out_rows, width * groups, groups, 0), errors
        ),
        **common,
    )


def _joined_rows(layer, chunks):
    """Tap rows of a convolution that a sweep of GC takes one after the other, so that the sums of
    ``chunks`` chunks each do not return too early, as far as lines and slots have room."""
    allowed = [
        rows
        for rows in range(1, layer.kernel + 1)
        if layer.kernel % rows == 0
        and (rows == 1 or rows * chunks <= _GC_BLOCK_SLOTS)
        and (rows == 1 or rows * layer.line_rows <= LINE_ROWS)
    ]
    return min([rows for rows in allowed if rows * chunks >= RETURN], default=max(allowed))


def _backward(config, number, layer):
    lanes, base = config.lanes, config.parameter_bases[number]
    inputs, errors = config.map_bases[number], config.map_bases[number + 1]
    groups, channels = layer.groups, layer.in_channels // ROW
    chunks = ROW // lanes
    if config.layout == "alt2":
        base += config.transposed_base
    turns = chunks if config.layout == "alt1" else 1
    common = dict(
        kind=Kind.BW,
        layer=number,
        last_slots=0,
        bias=False,
        line_level=3,
        last_rows=0,
        source=_BACKWARD_SOURCES[config.layout],
        relu=True,
    )
    if not layer.convolution:
        patches = Segments(base, (channels, groups), (ROW, layer.group_rows), ROW, False, turns)
        return Pass(
            words=Nest((1, 1, channels, groups, 1, chunks, BATCH), (0, 0, 0, 0, 0, 1, chunks)),
            slots=(0, 0, 0, 0, 0, 0, 1),
            partials=config.error_partials,
            hold=RETURN // config.error_partials,
            fill=Nest((1, 1, channels, groups, 1, BATCH), (0, 0, 0, 1, 0, layer.out_rows), errors),
            rows=_repeated((1, 1, channels, groups, 1, 1), (0, 0, groups * ROW, ROW, 0, 0), turns),
            segments=patches,
            drain=Nest((1, 1, channels, BATCH), (0, 0, 1, layer.in_rows), inputs),
            taps=None,
            **common,
        )
    stride, inner = layer.stride, layer.in_channels
    taps = layer.kernel * inner
    width, line = layer.out_width, layer.out_width * groups
    counts = (BATCH, layer.in_height, channels, 1, layer.kernel)  # level 3 turns as ``Taps`` says
    return Pass(
        words=Nest(
            (*counts, groups * chunks, width), (0, 0, 0, 0, 0, 1, layer.out_channels // lanes)
        ),
        slots=(0, 0, 0, 0, 1, 0, stride),
        partials=1,
        # In the sweep of the next tap column a slot comes a clock earlier.
        hold=RETURN + (stride < layer.kernel),
        fill=Nest((*counts[:4], 1, line), (layer.out_rows, 0, 0, -line, 0, 1), errors),
        rows=_repeated(
            (*counts, groups), (0, 0, ROW, stride * taps, inner, layer.group_rows), turns
        ),
        segments=Segments(base, (1, 1), (0, 0), layer.rows, True),
        drain=Nest(
            (BATCH, layer.in_height, channels, layer.in_width),
            (layer.in_rows, layer.in_width * channels, 1, channels),
            inputs,
        ),
        taps=Taps(
            kernel=layer.kernel,
            stride=stride,
            height=layer.out_height,
            fill_later=0,
            fill_wrapped=line,
            rows_later=taps,
            rows_wrapped=-(stride - 1) * taps,
        ),
        **common,
    )


def _repeated(counts, strides, turns):
    """Nest of the 16 rows of patches, each patch ``turns`` times."""
    again = (turns,) if turns > 1 else ()
    return Nest((*counts, *again, ROW), (*strides, *(0 for _ in again), 1))


def layer_pass(config, kind, number):
    """The ``Pass`` of a ``Kind`` for layer ``number``; layer 0 has no BW."""
    make = {Kind.FW: _forward, Kind.GC: _gradient, Kind.BW: _backward}[kind]
    return make(config, number, config.layers[number])


def forward_passes(config):
    """The passes of an inference, in order."""
    return [layer_pass(config, Kind.FW, number) for number in range(len(config.layers))]


def training_passes(config):
    """The passes of a training task, in order: last layer first, GC before BW (FA3C 4.3)."""
    kinds = [(Kind.GC, Kind.BW) if number else (Kind.GC,) for number in range(len(config.layers))]
    return [
        layer_pass(config, kind, number)
        for number in reversed(range(len(kinds)))
        for kind in kinds[number]
    ]
