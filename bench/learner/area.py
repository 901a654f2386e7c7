"""Resources of the whole kernels with CF'22's learners, as yosys maps them to UltraScale+."""

from bench import row
from bench.learner.cycles import CARTPOLE
from boards.area import synthesize
from hw.arith.arithmetic import Arithmetic
from hw.designs import DESIGNS
from hw.learner.config import LearnerConfig
from hw.learner.kernel_config import LearnerKernelConfig
from hw.verilog import to_verilog
from sim.tools import BUILD_DIRECTORY

__all__ = ["rows"]

#: CF'22, Table 2: replay manager and learner, DP = 2, 32 PEs at most; SRAM is given in MB.
_TABLE_2 = {
    "dqn": {"dsp": 1600, "lut": 346_000, "ff": 459_000},
    "ddpg": {"dsp": 2560, "lut": 708_000, "ff": 1_035_000},
}
#: Environments: CartPole, and LunarLander with continuous actions.
_SIZES = {"dqn": dict(observation=4, action=2), "ddpg": dict(observation=8, action=2)}


def rows():
    """dsp, lut, ff, bram36, uram of both kernels in both arithmetics."""
    result = []
    for algorithm, sizes in _SIZES.items():
        for kind in ("fixed", "float32"):
            learner = LearnerConfig(
                **(CARTPOLE | sizes),
                algorithm=algorithm,
                lanes=2,
                arithmetic=Arithmetic(kind=kind),
            )
            config = LearnerKernelConfig(learner=learner)
            result += _rows(algorithm, config)
    return result


def _rows(name, config):
    learner, design = config.learner, DESIGNS[name]
    area = synthesize(
        to_verilog(design.kernel(config), name=name),
        name,
        work=BUILD_DIRECTORY / "area",
        flatten=False,
    )
    estimate = design.estimate(config)
    case = (
        f"{name}, {learner.observation} observations, 64-64, DP=2, 32 PEs, "
        f"{learner.arithmetic.kind}, N=2^20"
    )
    source = "estimate: yosys synth_xilinx -family xcup, module by module"
    result = []
    for resource in ("dsp", "lut", "ff", "bram36", "uram"):
        paper = _TABLE_2[name].get(resource)
        result.append(
            row("learner", case, resource, area[resource], "cells",
                reference="CF'22, Table 2" if paper else None, reference_value=paper,
                source=source)
        )  # fmt: skip
        if estimate.get(resource) is not None:
            result.append(
                row("learner", case, f"{resource}_estimate", round(estimate[resource], 1), "cells",
                    reference="mapped", reference_value=area[resource],
                    source="the design's own estimate, before synthesis")
            )  # fmt: skip
    return result
