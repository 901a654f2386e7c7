"""Resources of CF'22's learners: kernels by their own estimate, units as yosys maps them.

A whole kernel is hours of yosys; its chains, optimizers and loss, which are most of it, are a dozen
different units, mapped once each and counted.
"""

import sys
from collections import Counter

from bench import row
from bench.learner.cycles import CARTPOLE
from boards.area import SynthesisError, synthesize
from hw.arith.arithmetic import Arithmetic
from hw.designs import DESIGNS
from hw.learner.backward_pe import BackwardPE, gradient_sum_shape
from hw.learner.config import LearnerConfig
from hw.learner.estimate import stages
from hw.learner.forward_pe import ForwardPE
from hw.learner.kernel_config import LearnerKernelConfig
from hw.learner.loss import Loss
from hw.learner.optimizer import Optimizer
from hw.verilog import to_verilog
from sim.tools import BUILD_DIRECTORY

__all__ = ["rows", "units"]

#: CF'22, Table 2: replay manager and learner, DP = 2, 32 PEs at most; SRAM is given in MB.
_TABLE_2 = {
    "dqn": {"dsp": 1600, "lut": 346_000, "ff": 459_000},
    "ddpg": {"dsp": 2560, "lut": 708_000, "ff": 1_035_000},
}
#: Environments: CartPole, and LunarLander with continuous actions.
_SIZES = {"dqn": dict(observation=4, action=2), "ddpg": dict(observation=8, action=2)}
_MAPPED = "estimate: yosys synth_xilinx -family xcup, unit by unit"


def units(config):
    """``{(class, arguments): count}`` of a LearnerConfig's PEs, optimizers and loss."""
    count = Counter({(Loss, (config,)): 1})
    for layer, groups, kept, made_by in stages(config):
        for k in range(layer.length):
            outputs = layer.outputs_of(k)
            count[ForwardPE, (config, layer, groups, outputs)] += 1
            backward = (config, layer, kept, 1, made_by is not None, outputs, min(k, 2))
            count[BackwardPE, backward] += 1
        optimizer = (config, gradient_sum_shape(config))
        count[Optimizer, optimizer] += config.units(layer) * layer.vector
    return count


def rows():
    """The estimates of both kernels in both arithmetics, and dqn's units as they are mapped."""
    result = []
    for algorithm, sizes in _SIZES.items():
        for kind in ("fixed", "float32"):
            options = CARTPOLE | sizes | dict(algorithm=algorithm, lanes=2)
            config = LearnerConfig(**options, arithmetic=Arithmetic(kind=kind))
            case = f"{algorithm}, {config.observation} observations, 64-64, DP=2, 32 PEs, {kind}"
            result += _estimated(algorithm, f"{case}, N=2^20", config)
            if algorithm == "dqn":
                result += _mapped(case, config)
    return result


def _estimated(algorithm, case, learner):
    estimate = DESIGNS[algorithm].estimate(LearnerKernelConfig(learner=learner))
    paper = _TABLE_2[algorithm]
    return [
        row("learner", case, f"{name}_estimate", round(estimate[name], 1), "cells",
            reference="CF'22, Table 2" if name in paper else None, reference_value=paper.get(name),
            source="the kernel's own estimate; LUTs of binary32 units alone")
        for name in ("dsp", "lut", "bram36", "uram")
    ]  # fmt: skip


def _mapped(case, config):
    """Cells of all units of a kind; kinds that yosys' mapper does not survive are left out."""
    kinds, result = {}, []
    for (cls, arguments), count in units(config).items():
        kinds.setdefault(cls, []).append((arguments, count))
    for cls, parts in kinds.items():
        name, total = cls.__name__.lower(), Counter()
        try:
            for arguments, count in parts:
                verilog = to_verilog(cls(*arguments), name=name)
                area = synthesize(verilog, name, work=BUILD_DIRECTORY / "area")
                total.update({key: count * area[key] for key in ("dsp", "lut", "ff")})
        except SynthesisError as error:
            print(f"{cls.__name__} is left out: {error}", file=sys.stderr)
            continue
        number = sum(count for _, count in parts)
        for resource, value in total.items():
            result.append(
                row("learner", f"{case}: {number} x {cls.__name__}", resource, value, "cells",
                    source=_MAPPED)
            )  # fmt: skip
    return result
