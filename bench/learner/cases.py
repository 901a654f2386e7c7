"""The learners whose gradient steps are measured, with the most clocks that a step may take."""

from dataclasses import dataclass, field

from hw.arith.arithmetic import Arithmetic
from hw.learner.config import LearnerConfig

__all__ = [
    "BATCHES",
    "CARTPOLE",
    "MORE_UNITS",
    "ONE_LAYER",
    "ONE_SLR",
    "TWO_NETWORKS",
    "TWO_NETWORKS_FLOAT",
    "LearnerCase",
    "cases",
    "name_of",
    "net_of",
]

BATCHES = (32, 64, 128, 256, 512)

#: A network for CartPole, at most 32 multipliers a lane.
CARTPOLE = dict(observation=4, action=2, hidden=(64, 64), multipliers=32, batch=512, double=False)
#: CF'22's: one hidden layer, and its units of 32 and 16 multipliers.
ONE_LAYER = CARTPOLE | dict(hidden=(64,), words=(4, 8, 2))
#: An update unit for each PE of the widest unit, as in CF'22's formula.
MORE_UNITS = ONE_LAYER | dict(update_units=32)
#: CF'22's for LunarLander with continuous actions: a critic and an actor.
TWO_NETWORKS = ONE_LAYER | dict(algorithm="ddpg", observation=8, words=((2, 16, 1), (2, 16, 2)))
#: Its words in binary32, where adders are what is large: they fit a U200 below CF'22's Table 2.
TWO_NETWORKS_FLOAT = TWO_NETWORKS | dict(words=((2, 16, 1), (8, 4, 2)), update_units=4)
#: As many multipliers as one SLR of a U200 has DSP blocks for, in its planned share.
ONE_SLR = CARTPOLE | dict(multipliers=128, words=(2, 8, 16, 2), update_units=16)
#: The actor of FIXAR, as the network of a DQN.
_CHEETAH = dict(
    observation=17, action=6, hidden=(400, 300), multipliers=100, update_units=16, batch=512,
    double=False,
)  # fmt: skip

#: Clocks of a step of CARTPOLE, by arithmetic and lanes, when a layer took and gave at most a
#: number a clock and lane.
_OF_CHAINS = {
    ("fixed", 2): (3040, 5088, 9184, 17_376, 33_760),
    ("fixed", 1): (5086, 9182, 17_374, 33_758, 66_526),
    ("float32", 2): (3194, 5242, 9338, 17_530, 33_914),
    ("float32", 1): (5230, 9326, 17_518, 33_902, 66_668),
}
#: Clocks of an iteration over those of its step, at most, by batch: where a layer takes 64 clocks
#: or more for a sample, draw and gather hide behind the step.
_HIDDEN, _SHORT = dict.fromkeys(BATCHES, 1.05), {64: 1.35, 512: 1.32}


@dataclass(frozen=True)
class LearnerCase:
    """A learner, and what is measured of it.

    bars : {batch: clocks of a gradient step, at most}, of those batches that have a bar.
    shares : {batch: clocks of an iteration over those of a step, at most}, likewise.
    iterations : of a launch.
    acts : whether ACT is measured too.
    units : whether its rows name its update units, as another case has the same words.
    """

    learner: LearnerConfig
    batches: tuple = BATCHES
    bars: dict = field(default_factory=dict)
    shares: dict = field(default_factory=dict)
    iterations: int = 16
    acts: bool = False
    units: bool = False

    def name(self, batch):
        """The case of a row about ``batch`` samples."""
        name = name_of(self.learner, batch)
        units = f" and {self.learner.update_units} update units, DP="
        return name.replace(", DP=", units) if self.units else name


def net_of(learner):
    """The learner's networks as rows name them: sizes and words."""
    sizes = "-".join(map(str, (learner.observation, *learner.hidden, learner.action)))
    words = [
        "-".join(map(str, (layers[0].input_word, *(layer.output_word for layer in layers))))
        for layers in learner.networks.values()
    ]
    algorithm = "" if learner.algorithm == "dqn" else f"{learner.algorithm} "
    return f"{algorithm}{sizes}, words {' and '.join(words)}"


def name_of(learner, batch):
    """The case of a row about ``learner`` and ``batch`` samples."""
    return f"{net_of(learner)}, DP={learner.lanes}, {learner.arithmetic.kind}, B={batch}"


def _case(sizes, kind, lanes, batches=BATCHES, **options):
    learner = LearnerConfig(**sizes, lanes=lanes, arithmetic=Arithmetic(kind=kind))
    return LearnerCase(learner, batches, **options)


def cases():
    """The list of Cases: CF'22's own networks first."""
    wider = ONE_LAYER | dict(words=(4, 16, 2), multipliers=64)
    lander = ONE_LAYER | dict(observation=8, action=4)
    result = [
        _case(ONE_LAYER, "fixed", 2, bars={64: 490, 512: 2300}, shares=_SHORT),
        _case(ONE_LAYER, "float32", 2, bars={64: 620, 512: 2420}),
        _case(MORE_UNITS, "fixed", 2, (64, 512), bars={64: 420}, units=True),
        _case(wider, "fixed", 1, (64, 512), bars={64: 490}),
        _case(lander, "fixed", 2, (64, 512), bars={64: 830}),
        _case(TWO_NETWORKS, "fixed", 2, (64, 512), bars={64: 1080}),
        _case(TWO_NETWORKS_FLOAT, "float32", 2, (64, 512), bars={64: 1460}),
    ]
    for (kind, lanes), clocks in _OF_CHAINS.items():
        bars = dict(zip(BATCHES, clocks, strict=True))
        options = dict(bars=bars, shares=_HIDDEN, acts=lanes == 2)
        result.append(_case(CARTPOLE, kind, lanes, **options))
    result.append(_case(ONE_SLR, "fixed", 2, (64, 512), bars={64: 1620}))
    # In fixed point alone: so many multipliers of binary32 compile for longer than all others.
    result.append(_case(_CHEETAH, "fixed", 1, (64, 512), shares=_HIDDEN, iterations=3))
    return result
