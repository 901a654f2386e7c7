"""How much FIXAR's intra-layer mode (V-B) could gain at most: cores that take different output
tiles of one layer, and all samples, in place of all tiles and different samples."""

from bench import row
from bench.fixar.card import precision_of
from bench.fixar.cycles import case_of, config_of
from hw.fixar.pass_clocks import iteration_cycles, pass_cycles, pass_latency
from hw.fixar.plan import Kind, Result, plan

__all__ = ["gain", "rows"]


def gain(config, batch, precision):
    """The share by which samples a second would rise at most, 0 if they would not.

    Each pass takes the mode that is faster for it. In intra-layer mode the clocks to fill and to
    empty the units are left out, and all cores can read the cells of all samples.

    config : FixarConfig
    batch, precision : samples of the batch, and the Precision
    """
    saved = 0
    for pass_ in plan(config):
        if pass_.result not in (Result.TANH, Result.SLOPE):  # numbers leave one by one
            steps = pass_cycles(config, pass_, batch, precision)
            steps -= pass_latency(config, pass_, precision)
            saved += max(0, steps - _intra_layer(config, pass_, batch, precision))
    now = iteration_cycles(config, batch, precision)
    return now / (now - saved) - 1


def _intra_layer(config, pass_, batch, precision):
    """The least clocks of the steps of a pass: a tile passes the port once, and a core streams all
    samples past each of its tiles. In a DW the optimizers take a word a clock, so only one core at
    a time streams the last group of samples past a column of tiles: of cores with equally many
    columns, each ends a group after the one before."""
    layer, side, cores = pass_.layer, config.side, config.cores
    half = precision.errors if pass_.kind == Kind.DX else precision.activations
    each = 2 if half else 1
    if pass_.kind == Kind.DW:
        words, groups = side * layer.input_tiles + 1, -(-batch // (side * each))
        columns = -(-layer.output_tiles // cores)
        busiest = layer.output_tiles - (columns - 1) * cores
        own = (columns * groups + busiest - 1) * max(words, side * each)
        return max(layer.output_tiles * words, own)
    outer, inner = layer.output_tiles, layer.input_tiles
    if pass_.kind == Kind.DX:
        outer, inner = pass_.tiles or inner, outer
    port = outer * inner * side // config.port_words
    return max(port, -(-outer // cores) * inner * -(-batch // each))


def rows():
    """The list of rows intra_layer_gain of 2 to 7 cores with 4 words of weights a clock."""
    result = []
    for cores in range(2, 8):
        learner = config_of("HalfCheetah", cores=cores, port_words=4)
        for name in ("full", "half"):
            for batch in (64, 128, 256, 512):
                value = gain(learner, batch, precision_of(learner, name))
                result.append(
                    row("fixar", case_of(learner, name, batch), "intra_layer_gain",
                        round(value, 3), "", reference="worth its memory from", reference_value=0.1,
                        source="worked out, bench.fixar.intra_layer, a bound")
                )  # fmt: skip
    return result
