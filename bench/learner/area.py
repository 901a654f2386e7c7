"""Resources of CF'22's learners, whole kernels: their estimates, and what yosys maps."""

from bench import row
from bench.area import mapped
from bench.learner.cycles import CARTPOLE
from boards.cf22 import PUBLISHED
from hw.arith.arithmetic import Arithmetic
from hw.designs import DESIGNS
from hw.estimate import RESOURCES
from hw.learner.config import LearnerConfig
from hw.learner.kernel_config import LearnerKernelConfig

__all__ = ["kernels", "rows"]


def kernels():
    """``{(algorithm, case): LearnerKernelConfig}``."""
    result = {}
    for algorithm, paper in PUBLISHED.items():
        # CartPole, and LunarLander with continuous actions.
        observation, _, action = paper.network
        sizes = dict(observation=observation, action=action)
        for kind in ("fixed", "float32"):
            options = CARTPOLE | sizes | dict(algorithm=algorithm, lanes=2)
            config = LearnerConfig(**options, arithmetic=Arithmetic(kind=kind))
            case = f"{config.observation} observations, 64-64, DP=2, 32 PEs, {kind}, N=2^20"
            result[algorithm, f"{algorithm}, {case}"] = LearnerKernelConfig(learner=config)
    return result


def rows():
    """The list of rows of resources, mapped by yosys and estimated, of the kernels dqn and ddpg in
    fixed point and in binary32. Each kernel takes a quarter of an hour."""
    result = []
    for (algorithm, case), config in kernels().items():
        paper = PUBLISHED[algorithm].resources
        estimate = DESIGNS[algorithm].estimate(config).resources
        whole = mapped(algorithm, config, {}, "kernel")["kernel"]
        for name in RESOURCES:
            paper_value = dict(
                reference="CF'22, Table 2" if name in paper else None,
                reference_value=paper.get(name),
            )
            result.append(
                row("learner", case, name, whole[name], "cells", **paper_value,
                    source="estimate: yosys for UltraScale+, DSP blocks packed, module by module")
            )  # fmt: skip
            if estimate[name] is not None:
                result.append(
                    row("learner", case, f"{name}_estimate", round(estimate[name], 1), "cells",
                        **paper_value,
                        source="the kernel's own estimate")
                )  # fmt: skip
    return result
