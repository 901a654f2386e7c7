"""Passes and parameters of a small learner on an ECP5, whose few multipliers limit it."""

from collections import Counter

from bench import row
from boards.area import grouped, modules, synthesize
from hw.arith.arithmetic import Arithmetic
from hw.learner.block.backward import Backward
from hw.learner.block.forward import Forward
from hw.learner.config import LearnerConfig
from hw.learner.parameters.layer_parameters import LayerParameters
from hw.learner.placed_layers import placed
from hw.verilog import to_verilog
from system.tools import BUILD_DIRECTORY

__all__ = ["parameters", "passes", "rows"]

#: MULT18X18D of all layers, without optimizers, at most.
_BAR = 30
#: One multiplier a layer and data path; and two where a word has two numbers.
_WORDS = ((1, 1, 1, 1), (1, 1, 2, 1))
_FOUND = ("lut", "ff", "bram36", "dsp")
_WORK = BUILD_DIRECTORY / "area"


def _learner(words):
    return LearnerConfig(
        words=words, batch=32, update_units=1, double=False, arithmetic=Arithmetic(kind="fixed")
    )


def passes(words):
    """``{lut, ff, bram36, dsp}`` of ``Forward`` and ``Backward`` of all layers of 4-64-64-2 with
    ``words``, in fixed point, each mapped to an ECP5 by itself."""
    learner, result = _learner(words), Counter()
    shared = learner.layer_config
    for stage in placed(learner):
        shape, back = stage.shape, stage.backward_options
        for name, unit in (
            ("forward", Forward(shared, shape, stage.weight_sources)),
            ("backward", Backward(shared, shape, stage.backward_groups, **back)),
        ):
            found = synthesize(to_verilog(unit, name=name), name, work=_WORK, family="ecp5")
            result.update({kind: found[kind] for kind in _FOUND})
    return result


def parameters():
    """``{"parameters" or "their optimizer": {lut, ff, bram36, dsp}}`` of the middle layer with
    words of 1, mapped to an ECP5 module by module."""
    learner = _learner(_WORDS[0])
    [(_, layer, _)] = learner.networks.values()
    unit = LayerParameters(learner.layer_config, layer, input_gradient=True)
    found = modules(to_verilog(unit, name="parameters"), "parameters", work=_WORK, family="ecp5")
    parts = {"parameters": "parameters", "parameters.unit": "their optimizer"}
    return grouped(found, "parameters", parts.get)


def rows():
    """The list of rows of resources of ``passes`` for all words that are tried, and of
    ``parameters``."""
    result = []
    for words in _WORDS:
        case = f"forward and backward of 4-64-64-2, words {'-'.join(map(str, words))}"
        result += _rows(case, passes(words), {"dsp": _BAR})
    for part, counts in parameters().items():
        result += _rows(f"64-64, words 1-1, {part}", counts, {})
    return result


def _rows(case, counts, bars):
    return [
        row("learner", f"{case}, DP=1, fixed, ECP5", name, counts[name], "cells",
            reference="at most" if name in bars else None, reference_value=bars.get(name),
            source="estimate: yosys for ECP5")
        for name in _FOUND
    ]  # fmt: skip
