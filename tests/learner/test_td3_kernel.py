"""The kernel ``td3``: its plan, its record, its clocks, and what its noise depends on."""

import numpy as np
import pytest
from learner.learning import experiences, kernel_config, random_learner, steps
from learner.test_kernel import compare

from host.learner.hyperparameters import checked_hyperparameters, hyperparameter_records
from host.runs.preset import default_learner, preset
from hw.arith.arithmetic import Arithmetic
from hw.designs import DESIGNS
from hw.errors import UsageError
from hw.learner.config import LearnerConfig, LearnerKernelConfig
from hw.learner.network.smooth import Smooth
from hw.learner.records import HYPERPARAMETERS, REPORT, STEP
from hw.learner.step_clocks import acting_clocks, pace, step_clocks

FIXED = Arithmetic(kind="fixed")
#: Sizes of HalfCheetah-v5, and of a batch in tests of gradients.
OBSERVATION, ACTION, BATCH = 17, 6, 64
SIZES = dict(algorithm="td3", observation=17, action=6, hidden=(64, 64), batch=256)
NEEDED = dict(scale=0.1, rate=0.1)


def learner_of(**options):
    return LearnerConfig(**SIZES | dict(lanes=2, multipliers=32, arithmetic=FIXED) | options)


def test_clocks_of_two_steps():
    """One that trains the actor and one that does not; trainers of the simulator take as many."""
    config = learner_of(update_units=8)
    both, critics = (step_clocks(config, 256, sweeps).step for sweeps in (None, (0,)))
    assert (both + critics) / 2 <= 28_000 and critics < 0.5 * both


def test_limited_norms_cost_few_clocks():
    """Of each sweep's networks, by formulas that long tests hold to simulated trainers."""
    config = learner_of(update_units=8, clip_norm=True)
    both, critics = (step_clocks(config, 256, sweeps).step for sweeps in (None, (0,)))
    assert (both + critics) / 2 <= 28_000 and (both, critics) == (36_797, 18_268)


def test_targets_of_a_step_are_smoothed():
    plan = learner_of().plan
    assert plan.smoothed("actor") == (1, 0) and plan.smoothed("critic") == (0, 0)
    assert plan.weights("actor") == (("target",), ("online",))


def test_critics_have_two_paths_and_the_second_stands_still():
    plan = learner_of().plan
    assert plan.paths["critic_2"] == (("q of critic_2", "next q of critic_2"), ())
    assert plan.errors("critic") == (1, 1) and plan.errors("critic_2") == (1, 0)
    assert plan.weights("critic") == (("online", "target"), ("online", None))
    assert plan.weights("critic_2") == (("online", "target"), (None, None))


def test_networks_and_the_sweeps_that_train_them():
    plan = learner_of().plan
    trained = {name: plan.trained_in(name) for name in plan.networks}
    assert trained == {"critic": 0, "critic_2": 0, "actor": 1}


def test_noise_may_be_slower_than_the_layers():
    config = learner_of(hidden=(4,), multipliers=256, batch=16)
    assert pace(config) == Smooth.interval_of(2, 6) == 36 > config.interval


def test_actions_that_leave_have_no_noise():
    """They take the clocks of ``ddpg``, whose actor has these words."""
    sizes = dict(observation=6, action=2, hidden=(12,))
    critic, actor = (2, 2, 1), (4, 1, 2)
    smoothed = learner_of(**sizes, words=(critic, critic, actor))
    plain = learner_of(**sizes, algorithm="ddpg", words=(critic, actor))
    assert acting_clocks(smoothed, 5) == acting_clocks(plain, 5)


def test_its_record_begins_as_the_others():
    assert STEP.size == 2 * HYPERPARAMETERS.size
    for name, offset in HYPERPARAMETERS.offsets.items():
        assert (STEP.offsets[name], STEP.dtype[name]) == (offset, HYPERPARAMETERS.dtype[name])


@pytest.mark.parametrize("name", ["dqn", "ddpg", "td3"])
def test_designs_name_their_record(name):
    record = STEP if name == "td3" else HYPERPARAMETERS
    design = DESIGNS[name]
    records = design.records(design.default({"data_width": 512, "uram": None}))
    assert records["Hyperparameters and reports"] == [record, REPORT]


def test_defaults_of_a_step():
    [step] = hyperparameter_records(1, STEP, **NEEDED)
    assert (step["sweeps"], step["seed"], step["noise"]) == (0xFFFF_FFFF, 0, 0)


def test_noise_may_have_no_limit():
    [step] = hyperparameter_records(1, STEP, noise_clip=np.inf, seed=2**64 - 1, **NEEDED)
    assert np.isinf(step["noise_clip"]) and step["seed"] == 2**64 - 1


@pytest.mark.parametrize("noise", [-0.5, np.nan, np.inf])
def test_noise_that_is_no_deviation(noise):
    with pytest.raises(UsageError, match="^noise must be a number of at least 0, not"):
        hyperparameter_records(1, STEP, noise=noise, **NEEDED)


def test_other_kernels_have_no_noise():
    with pytest.raises(UsageError, match="^noise must be one of scale, beta, .*, not unknown$"):
        hyperparameter_records(1, noise=0.5, **NEEDED)


def test_steps_of_another_kernel():
    with pytest.raises(UsageError, match="^steps must be a list of STEP, not "):
        checked_hyperparameters(hyperparameter_records(1, **NEEDED), STEP)


def test_it_learns_on_the_cpu_unless_asked():
    assert default_learner("td3") == "cpu" and preset("td3", "card").kernel == "td3"


def test_more_inputs_than_a_layer_has():
    with pytest.raises(
        UsageError, match=r"^observation \+ action must be an integer in 2\.\.512, not 518$"
    ):
        learner_of(observation=512)


def test_its_estimate_has_two_critics():
    one, two = (
        DESIGNS[name].estimate(LearnerKernelConfig(learner=learner_of(algorithm=name)))
        for name in ("ddpg", "td3")
    )
    assert one.dsp < two.dsp < 2 * one.dsp and one.lut < two.lut < 2 * one.lut


def made(kind, seed=3, **options):
    """A learner with random parameters, and its generator."""
    config = LearnerConfig(
        algorithm="td3", observation=OBSERVATION, action=ACTION, hidden=(64, 64), batch=BATCH,
        arithmetic=Arithmetic(kind=kind), **options,
    )  # fmt: skip
    return random_learner(config, seed)


def stepped(seed, **values):
    """The parameters after a step with noise of this seed."""
    learner, rng = made("fixed")
    records = {n: x.astype("<f4") for n, x in experiences(learner.config, rng, BATCH).items()}
    [step] = steps(1, BATCH, learner.config, seed=seed, **values)
    learner.train(records, None, np.ones(BATCH, np.float32), step)
    return learner.store()


def test_a_step_can_be_repeated():
    assert (stepped(7) == stepped(7)).all()


def test_each_seed_has_noise_of_its_own():
    assert (stepped(7) != stepped(8)).any()


def test_noise_of_no_deviation_is_none():
    assert (stepped(7, noise=0) == stepped(8, noise=0)).all()


@pytest.mark.long
@pytest.mark.parametrize("lanes, kind", [(2, "fixed"), (1, "float32")])
def test_hardware_is_the_twin(lanes, kind):
    """Whole iterations on the simulated card, every second one without the actor, with the clocks
    of the formula."""
    config = kernel_config(
        algorithm="td3", observation=4, action=3, hidden=(6,), multipliers=4, update_units=2,
        batch=16, lanes=lanes, arithmetic=Arithmetic(kind=kind),
    )  # fmt: skip
    cycles = compare(config, batch=16)
    both, critics = (step_clocks(config.learner, 16, sweeps).step for sweeps in (None, (0,)))
    assert cycles[:, 2].tolist() == [both, critics, both]


def test_norms_are_measured_by_optimizers_of_each_layer():
    with pytest.raises(UsageError, match="^update_units must be at least 1 with clip_norm, not 0$"):
        LearnerConfig(clip_norm=True, update_units=0)
