"""Clocks of a pass, of an iteration and of an ACT by formula; tests compare them with the RTL.

With S = ceil(B / (N h)) words of a stream, P = side, w = port_words, L = max(P / w, 3) clocks to
load a tile and T(k) = ceil(k / P), tiles are loaded while others stream, so that from P = 8 on a
pass takes ::

    FW   T(n) * (max(S, L + 1) + (T(m) - 1) * max(S, L))
    DX   T(m) * T(n) * max(S, L)
    DW   T(n) * ceil(S / P) * max(P * T(m) + 1, P * h)

plus the clocks to fill and to empty the units. In a pass of TANH or SLOPE, words of the last tile
are as many clocks apart as there are lanes of actions.
"""

from functools import cache

from hw.fixar.actions import Actions
from hw.fixar.array.accumulators import Accumulators
from hw.fixar.array.array import PeArray
from hw.fixar.batch.intake import Intake
from hw.fixar.batch.intake_walk import IntakeWalk
from hw.fixar.batch.td_errors import GAP, TdErrors
from hw.fixar.parameters.weight_update import WeightUpdate
from hw.fixar.plan import Kind, Result, acting, plan
from hw.fixar.precision import Precision
from hw.fixar.walk.streamer import Streamer
from hw.timing import picture

__all__ = ["acting_cycles", "clocks", "iteration_cycles", "iteration_units", "pass_cycles"]
__all__ += ["pass_latency", "schedule"]

#: From the first row of a tile to the step that may take it.
_LOAD = {Kind.FW: 1, Kind.DX: 1, Kind.DW: 3}
#: Of a pass, beyond its steps and what depends on the side: by its kind, and of a tail.
_FILL = {Kind.FW: 27, Kind.DX: 27, Kind.DW: 17}
_TAIL = {Result.TANH: 14, Result.SLOPE: 8}
#: From a pass's end to the start of the next one; from the batch's last cell to the first pass.
_BETWEEN, _BEGIN = 5, 5
#: From the last pass to the next iteration, and where the update has been waited for.
_END = 4


def clocks(config):
    """``{operation: clocks}`` of a FixarKernelConfig: iterations of its whole batch before FORMAT
    halves the numbers (FIXAR IV), with activations of 16 bits, and with errors of 16 bits too."""
    learner = config.learner
    batch = learner.batch
    precisions = {
        "full precision": Precision(),
        "activations of 16 bits": Precision(activations=True),
        "activations and errors of 16 bits": Precision(activations=True, errors=True),
    }
    return {
        **{
            f"iteration of {batch} samples, {name}": iteration_cycles(learner, batch, each)
            for name, each in precisions.items()
        },
        "ACT for one observation, full precision": acting_cycles(learner, 1, Precision()),
    }


def pass_cycles(config, pass_, batch, precision):
    """Clocks of a ``Pass`` of ``plan(config)``, from its start to its end.

    batch : int, samples of the batch
    precision : Precision
    """
    side, layer, half = config.side, pass_.layer, precision.activations
    enough, bias = _LOAD[pass_.kind], 0
    loads = side // config.port_words
    if pass_.kind == Kind.FW:
        outer, inner = layer.output_tiles, layer.input_tiles
        words, bias = config.groups(batch, half), 1
    elif pass_.kind == Kind.DX:
        outer, inner = pass_.tiles or layer.input_tiles, layer.output_tiles
        words = config.groups(batch, precision.errors)
    else:
        outer, inner = layer.output_tiles, -(-config.groups(batch, half) // side)
        words, loads = side * layer.input_tiles + 1, side
        enough += PeArray.lag_of(side, config.port_words)
        if half:  # of a row, one sample's errors and then the other's
            loads, enough = 2 * side, enough + side
    slow = _slow(config, pass_)
    again = PeArray.again_of(config.port_words)
    steps = _steps(outer, inner, words, slow, loads, again, enough, bias)
    return steps + pass_latency(config, pass_, precision)


def _slow(config, pass_):
    """Clocks from word to word of a pass's last tile."""
    serial = pass_.result in (Result.TANH, Result.SLOPE)
    return Streamer.slow_of(config) if serial else 1


@cache  # layers come again in an iteration, and in other configs
def _steps(outer, inner, words, slow, loads, again, enough, bias):
    """Clocks of a pass's steps: from the first to the one after the last word.

    outer, inner : tiles; words : of a tile's stream, ``slow`` clocks apart in the last of ``inner``
    tiles; loads : clocks of a tile's load; again : from a tile's step to the next load; enough :
    from a load's first clock to its step; bias : clocks before the first of ``inner`` tiles.
    """
    # Of each tile: its load, the step that takes it, and the step after its last word.
    load = step = following = 0
    for tile in range(outer * inner):
        if tile:
            first = tile % inner == 0
            load = max(load + loads, step + again) + (bias if first else 0)
            step = max(following, load + enough, step + Accumulators.RETURN)
        else:
            load = -enough
        last = tile % inner == inner - 1
        following = step + words * (slow if last else 1)
    return following


def pass_latency(config, pass_, precision):
    """Clocks of a ``Pass`` without its steps: its first tile, and the latency of the last word."""
    side, clocks, slow = config.side, _FILL[pass_.kind], _slow(config, pass_)
    if pass_.kind == Kind.DW:
        # Words are turned meanwhile, which takes as long as rows of two codes but for their lag.
        lag = PeArray.lag_of(side, config.port_words)
        clocks += max(0, lag - 1) if precision.activations else 0
        return clocks + 2 * side + WeightUpdate.latency_of(config)
    clocks += side
    if pass_.kind == Kind.DX:
        clocks += side // config.port_words  # the first tile is turned
    if slow > 1:
        lanes = (config.action - 1) % side + 1  # of the last word, which nothing follows
        clocks += lanes - slow + _TAIL[pass_.result]
    return clocks


def iteration_cycles(config, batch, precision):
    """Clocks from an iteration's start to the next one's, if the next batch has come by then.

    batch, precision : samples of the batch, and the Precision
    """
    units = iteration_units(config, batch, precision)
    return max(end for spans in units.values() for _, end in spans) + _END


def iteration_units(config, batch, precision):
    """``{unit: [(begin, end), ...]}`` of an iteration: the batch into cells, the passes one after
    the other, the TD errors, for which the update waits. Arguments: ``iteration_cycles``."""
    steps, _ = IntakeWalk.steps_of(config)
    clock = steps * batch + Intake.LATENCY
    units, clock = {"batch into cells": [(0, clock)]}, clock + _BEGIN
    for pass_ in plan(config):
        end = clock + pass_cycles(config, pass_, batch, precision)
        network = ("critic", "actor")[pass_.network]
        name = f"{network} {config.networks[network].index(pass_.layer)} {pass_.kind.name}"
        units.setdefault(name, []).append((clock, end))
        clock = end + _BETWEEN
        if pass_.observes:
            errors = clock + _errors_cycles(config, batch, precision)
            units["TD errors"] = [(clock, errors)]
        if pass_.decides:
            clock = max(clock, errors)
    return units


def schedule(config):
    """A picture of an iteration of a FixarKernelConfig, as Markdown."""
    iteration = config.learner, config.learner.batch, Precision()
    return picture(
        f"An iteration of {config.learner.batch} samples in full precision takes "
        f"{iteration_cycles(*iteration)} clocks. A row has the passes of a layer forward (FW), of "
        "errors (DX) or of gradients (DW); a digit counts them.",
        iteration_units(*iteration),
    )


def _errors_cycles(config, batch, precision):
    """Clocks of the TD errors, one sample after the other, padding included."""
    places = config.cores * config.groups(batch, precision.activations)
    places *= 2 if precision.activations else 1
    return GAP * (places - 1) + TdErrors.latency_of(config)


def acting_cycles(config, count, precision):
    """Clocks of an ACT of ``count`` observations, from when they are loaded to its last beat."""
    _, steps = IntakeWalk.steps_of(config)
    clocks = steps * count + Intake.LATENCY + Actions.interval_of(config) * count
    passes = plan(config)
    for number in acting(config):
        clocks += pass_cycles(config, passes[number], count, precision) + _BETWEEN
    return clocks + Actions.LATENCY
