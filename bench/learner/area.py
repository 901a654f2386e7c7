"""Resources of the learners that are measured: whole kernels, estimated and mapped by yosys."""

from dataclasses import replace

from bench import row
from bench.area import mapped
from bench.learner.cases import (
    CARTPOLE,
    MORE_UNITS,
    ONE_LAYER,
    ONE_SLR,
    TWO_NETWORKS,
    TWO_NETWORKS_FLOAT,
    net_of,
)
from boards.cf22 import PUBLISHED
from boards.u200 import U200
from hw.arith.arithmetic import Arithmetic
from hw.designs import DESIGNS
from hw.estimate import RESOURCES
from hw.learner.config import LearnerConfig, LearnerKernelConfig

__all__ = ["estimates", "kernels", "rows", "sram_mb"]

#: Algorithm -> MB of SRAM in CF'22's Table 2, which counts all memory blocks of the design.
_SRAM_MB = {"dqn": 6.6, "ddpg": 9.2}
#: Children of a node of CF'22's sum tree (4.1).
_PAPERS_FANOUT = 64
#: Of 4-64-64-2 with two lanes.
_BARS = {"fixed": dict(lut=112_000, dsp=600), "float32": dict(lut=300_000, dsp=1160)}
#: As fast as the words that ``fit`` finds. In binary32 each row has adders of its own for the sums
#: of its words, so rows of eight products are smaller than twice as many of four.
_FEWER_ROWS = CARTPOLE | dict(words=(1, 4, 8, 1))


def kernels():
    """``{case: (LearnerKernelConfig, reference, {resource: count})}``: the kernels, and what they
    are compared with."""
    result = {}
    for sizes, kinds in (
        (ONE_LAYER, ("fixed", "float32")),
        (MORE_UNITS, ("fixed",)),
        (TWO_NETWORKS, ("fixed",)),
        (TWO_NETWORKS_FLOAT, ("float32",)),
        (CARTPOLE, ("fixed",)),
        (_FEWER_ROWS, ("float32",)),
        (ONE_SLR, ("fixed",)),
    ):
        for kind in kinds:
            learner = LearnerConfig(**sizes, lanes=2, arithmetic=Arithmetic(kind=kind))
            units = f" and {learner.update_units} update units" if sizes is MORE_UNITS else ""
            case = f"kernel {net_of(learner)}{units}, DP=2, {kind}, N=2^20"
            config, beside = LearnerKernelConfig(learner=learner), _beside(sizes, learner)
            result[case] = config, *beside
            if kind == "float32" and sizes in (ONE_LAYER, TWO_NETWORKS_FLOAT):
                # Table 2's arithmetic, and its sum tree too.
                tree = replace(config.replay, fanout=_PAPERS_FANOUT)
                papers = replace(config, replay=tree)
                result[f"{case}, K={_PAPERS_FANOUT}"] = papers, *beside
    return result


def _beside(sizes, learner):
    """``(reference, {resource: count})`` of a kernel. CF'22's own networks have its Table 2."""
    if sizes in (CARTPOLE, _FEWER_ROWS):
        return "at most", _BARS[learner.arithmetic.kind]
    if sizes is ONE_SLR:
        share = U200.planned(U200.regions[0])
        return "at most, the planned share of an SLR", share.to_dict()
    papers = PUBLISHED[learner.algorithm].resources | {"sram_mb": _SRAM_MB[learner.algorithm]}
    return "CF'22, Table 2", papers


def estimates():
    """The list of rows of resources of all ``kernels`` by their own estimates, without yosys."""
    result = []
    for case, (config, reference, beside) in kernels().items():
        found = DESIGNS[config.learner.algorithm].estimate(config).resources
        result += _compared(
            case, found, reference, beside, "_estimate", "the kernel's own estimate"
        )
    return result


def rows():
    """The list of rows of resources of all ``kernels`` as yosys maps them. Each kernel takes a
    quarter of an hour."""
    source = "estimate: yosys for UltraScale+, DSP blocks packed, module by module"
    result = []
    for case, (config, reference, beside) in kernels().items():
        found = mapped(config.learner.algorithm, config, {}, "kernel")["kernel"]
        result += _compared(case, found, reference, beside, "", source)
    return result


def sram_mb(found):
    """10^6 bytes of the memory blocks in ``found``, ``{resource: count}``, whole blocks with their
    parity bits: 36 Kibit of a RAMB36, 288 Kibit of a URAM288."""
    return (36 * found["bram36"] + 288 * found["uram"]) * 1024 / 8 / 1e6


def _compared(case, found, reference, beside, suffix, source):
    cells = [
        row("learner", case, f"{name}{suffix}", round(found[name], 1), "cells",
            reference=reference if name in beside else None, reference_value=beside.get(name),
            source=source)
        for name in RESOURCES
        if found[name] is not None
    ]  # fmt: skip
    if "sram_mb" not in beside:
        return cells
    return [
        *cells,
        row("learner", case, f"sram_mb{suffix}", round(sram_mb(found), 1), "MB",
            reference=reference, reference_value=beside["sram_mb"], source=source),
    ]  # fmt: skip
