"""host.learner.learning_replay: what it refuses, with which words, and that nothing has changed
after."""

import re

import numpy as np
import pytest
from learner.modelled import (
    DQN,
    FIXED,
    adam,
    equal,
    experiences,
    filled,
    kernel_config,
    opened,
    weights,
)

from host.learner.hyperparameters import check_steps
from host.learner.learning_replay import (
    Diverged,
    LearningReplay,
    hyperparameter_records,
    learner_fields,
)
from host.programs.launcher import CommandError
from host.replay import experience
from host.replay.prioritized_buffer import PrioritizedReplayBuffer
from hw.arith.arithmetic import Arithmetic
from hw.learner.config import LearnerConfig
from hw.learner.records import HYPERPARAMETERS
from hw.replay.config import ReplayKernelConfig


def test_states_of_others_are_refused():
    wider = kernel_config("dqn", hidden=(8, 7))
    plain = ReplayKernelConfig(replay=DQN.replay, engine=DQN.engine)
    with opened(DQN) as kernel, opened(wider) as second, opened(plain, "replay") as third:
        buffer, other = filled(kernel, DQN), filled(second, wider)
        before = other.state_dict()
        state = buffer.state_dict()
        with pytest.raises(
            ValueError, match=r"^learner must be that of this buffer .*\[8,7\].*, not"
        ):
            other.load_state_dict(state)
        replay = PrioritizedReplayBuffer(third, learner_fields(kernel), capacity=40)
        with pytest.raises(ValueError, match="^learner must be that of this buffer .*, not None"):
            other.load_state_dict(replay.state_dict())
        with pytest.raises(ValueError, match=r"^parameters must be \d+ numbers, not \[3\]"):
            other.load_state_dict({**before, "parameters": np.zeros(3, np.uint32)})
        equal(other.state_dict(), before)


def test_a_state_of_the_fixed_optimizer_s_predecessor_is_refused():
    """Until it had one of its own, fixed arithmetic had binary32's optimizer, and no name for it;
    binary32's states are as they were."""
    for arithmetic, refused in ((FIXED, True), (Arithmetic(), False)):
        config = kernel_config("dqn", arithmetic=arithmetic)
        with opened(config) as kernel:
            buffer = filled(kernel, config)
            old = buffer.state_dict()
            name = old.pop("optimizer")
            assert (name != "binary32") == refused
            if refused:
                with pytest.raises(ValueError, match="^optimizer must be that of .*, not binary32"):
                    buffer.load_state_dict(old)
            else:
                buffer.load_state_dict(old)


_FIXED = kernel_config("dqn", arithmetic=FIXED)
_LIMIT = r"in -2\*\*100\.\.2\*\*100, both excluded, not -1\.26765\d*e\+30"


@pytest.mark.parametrize(
    "config, name, value, rule",
    [
        *(
            (DQN, name, np.nan, "finite, not nan")
            for name in ("obs", "reward", "discount", "next_obs")
        ),
        (DQN, "action", 2, r"in 0\.\.1, not 2"),
        *((_FIXED, name, -(2.0**100), _LIMIT) for name in ("reward", "discount")),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_an_experience_that_is_none(monkeypatch, config, name, value, rule):
    """Named with its field; once overwritten, learning goes on."""
    with opened(config) as kernel:
        buffer = filled(kernel, config, 15)
        bad = experiences(config, 1)
        bad[name][...] = value
        with monkeypatch.context() as patch:
            # As a checkpoint may bring it: ``add`` refuses such an experience.
            patch.setattr(LearningReplay, "records_of", PrioritizedReplayBuffer.records_of)
            patch.setattr(experience, "_check_floats", lambda *_: None)
            buffer.add(**bad)
        launches, values = buffer.launches, buffer.store()
        with pytest.raises(ValueError, match=rf"^{name} of experience 15 must be {rule};"):
            # All 16 have the same priority: a stratum each.
            buffer.learn(adam(2, 0.01), batch_size=16)
        assert buffer.launches > launches
        equal(buffer.store(), values)
        buffer.set_priorities([15], [0])
        buffer.learn(adam(2, 0.01), batch_size=14)


def test_diverged():
    with opened(DQN) as kernel:
        buffer = filled(kernel, DQN)
        huge = {n: [(w * 1e30, b) for w, b in layers] for n, layers in weights(DQN).items()}
        buffer.initialize(huge)
        values, priorities = buffer.store(), buffer.priorities()
        with pytest.raises(Diverged, match=r"^td_error of experience \d+ must be finite") as caught:
            buffer.learn(adam(2, 0.01), batch_size=16)
        assert 0 <= caught.value.index < 30
        equal(buffer.store(), values)
        np.testing.assert_array_equal(buffer.priorities(), priorities)
        buffer.initialize(weights(DQN))
        buffer.learn(adam(2, 0.01), batch_size=16)


def test_other_errors_of_the_card_stay_what_they_are():
    with opened(DQN) as kernel:
        buffer = filled(kernel, DQN)
        buffer.set_priorities(np.arange(30), np.zeros(30))
        with pytest.raises(CommandError, match=r"\(LEARN\) must be valid, not empty"):
            buffer.learn(adam(1, 0.01), batch_size=16)


def bad_learns():
    steps, new = adam(3, 0.01), experiences(DQN, 7)
    for options, message in (
        (
            dict(batch_size=0),
            r"batch_size must be a multiple of 2 \(the kernel's lanes\) in 1\.\.16",
        ),
        (dict(batch_size=18), r"batch_size must be a multiple of 2 .*, not 18"),
        (dict(batch_size=7), r"batch_size must be a multiple of 2 .*, not 7"),
        (dict(batch_size=2.0), r"batch_size must be a multiple of 2 .*, not 2\.0"),
        (dict(steps=steps[:0]), r"steps must be 1 to 65535, not 0"),
        (
            dict(steps=np.zeros(1 << 16, HYPERPARAMETERS.dtype)),
            r"steps must be 1 to 65535, not 65536",
        ),
        (dict(steps=np.zeros(3)), r"steps must be a list of HYPERPARAMETERS, not float64"),
        (dict(experiences=new, inserts=3), r"inserts must be an integer in 0\.\.2 .*, not 3"),
        (dict(inserts=1), r"inserts must be an integer in 0\.\.0 .*, not 1"),
        (dict(experiences=new, inserts=-1), r"inserts must be an integer in 0\.\.2 .*, not -1"),
        (dict(experiences=new, inserts=1.0), r"inserts must be an integer in 0\.\.2 .*, not 1\.0"),
        (
            dict(experiences=experiences(DQN, 41), inserts=41, steps=steps[:1]),
            r"inserts must be at most 40, not 41",
        ),
        (dict(experiences={"obs": new["obs"]}), "next_obs must be given, not missing"),
        (
            dict(experiences={**new, "action": np.array([0, 1, 2, 0, 0, 0, 5])}),
            r"action must be in 0\.\.1, not 2 at position 2",
        ),
        (
            dict(experiences={**new, "action": np.full(7, -1)}),
            r"action must be an integer in 0\.\.4294967295, not -1 at position 0",
        ),
        (dict(store=("online", "third")), r"sets must be of online, target, .*, not 'third'"),
    ):
        yield {"steps": steps, "batch_size": 16, **options}, message
    # A subnormal floor is none to the card; DQN has no second one.
    for value in (0, 1e-40):
        wrong = steps.copy()
        wrong["floor"][2] = value, 1
        yield {"steps": wrong, "batch_size": 16}, "floor must be above 0 with adam, not "
    for name, value in (("rate", np.nan), ("rate", -1), ("scale", np.inf), ("clip", np.nan)):
        wrong = steps.copy()
        wrong[name][1] = value
        yield {"steps": wrong, "batch_size": 16}, f"{name} must be a number of at least 0, not"


@pytest.mark.parametrize(
    "wrong, message",
    [
        (dict(first_decay=1.5), "first_decay must be in 0..1 in fixed point, not 1.5"),
        (dict(second_decay=0.25), "second_decay must be 0 or in 0.5..1 in fixed point, not 0.25"),
        (dict(second_decay=1.5), "second_decay must be 0 or in 0.5..1 in fixed point, not 1.5"),
    ],
)
def test_decays_of_fixed_point(wrong, message):
    right = dict(scale=1, rate=1, floor=1, first_gain=1, second_gain=1)
    learner = LearnerConfig(arithmetic=Arithmetic(kind="fixed"))
    for decay in (0, 0.5, 1):
        steps = hyperparameter_records(2, **right, first_decay=0.1, second_decay=decay)
        check_steps(steps, learner)
    steps = hyperparameter_records(2, **right | wrong)
    check_steps(steps, LearnerConfig())
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        check_steps(steps, learner)


@pytest.mark.parametrize("options, message", list(bad_learns()))
def test_bad_learns_do_not_reach_the_card(options, message):
    with opened(DQN) as kernel:
        buffer = filled(kernel, DQN)
        launches = buffer.launches
        with pytest.raises(ValueError, match=f"^{message}"):
            buffer.learn(**options)
        assert buffer.launches == launches


def bad_parameters():
    def changed(edit):
        values = {name: list(layers) for name, layers in weights(DQN).items()}
        edit(values)
        return values

    def swap(values):
        values["q"][1] = (values["q"][1][0].T, values["q"][1][1])

    def spoil(values):
        values["q"][2][0][1, 2] = np.inf

    yield changed(lambda v: v.update(actor=v["q"])), "parameters must be of q, not q, actor"
    yield changed(lambda v: v.pop("q")), "parameters must be of q, not none"
    yield changed(lambda v: v["q"].pop()), "q must have 3 layers, not 2"
    yield (
        changed(swap),
        r"q\[1\]\.online must have shapes \(\(6, 8\), \(6,\)\) \(weights, biases\), not",
    )
    yield changed(spoil), r"q\[2\]\.online must be finite"


@pytest.mark.parametrize("parameters, message", list(bad_parameters()))
def test_bad_parameters_do_not_reach_the_card(parameters, message):
    with opened(DQN) as kernel:
        buffer = filled(kernel, DQN)
        launches = buffer.launches
        with pytest.raises(ValueError, match=f"^{message}"):
            buffer.initialize(parameters)
        sets = [{"online": pair} for pair in weights(DQN)["q"]]
        with pytest.raises(ValueError, match=r"^q\[1\] must have the sets online as the first"):
            buffer.load({"q": [sets[0], {"target": sets[1]["online"]}, sets[2]]})
        with pytest.raises(ValueError, match="^sets must be of online, .*, not 'onlin'"):
            buffer.load({"q": [{"onlin": k["online"]} for k in sets]})
        with pytest.raises(ValueError, match="^sets must be one or more, not none"):
            buffer.store(())
        assert buffer.launches == launches


def test_steps():
    steps = hyperparameter_records(
        2, scale=0.5, rate=(1, 2), blend=[[0.25, 1], [0, 0]], beta=[0, 1]
    )
    for name, value in (
        ("scale", [0.5, 0.5]),
        ("beta", [0, 1 << 15]),
        ("clip", [np.inf, np.inf]),
        ("reserved", [0, 0]),
        ("first_decay", [0, 0]),
        ("first_gain", [1, 1]),
        ("second_gain", [1, 1]),
        ("rate", [[1, 2], [1, 2]]),
        ("floor", [[0, 0], [0, 0]]),
        ("blend", [[0.25, 1], [0, 0]]),
        ("keep", [[0.75, 0], [1, 1]]),
    ):
        np.testing.assert_array_equal(steps[name], np.array(value, steps[name].dtype))
    assert hyperparameter_records(1, scale=1, rate=1, first_decay=0.9)["first_gain"] == np.float32(
        1 - 0.9
    )


@pytest.mark.parametrize(
    "values, message",
    [
        (dict(rate=1), "scale must be given, not missing"),
        (dict(scale=1), "rate must be given, not missing"),
        (dict(scale=1, rate=1, gamma=1), "gamma must be one of scale, beta, .*, not unknown"),
        (dict(scale=1, rate=1, reserved=1), "reserved must be one of scale, beta"),
        (dict(scale=1, rate=1, beta=1.5), r"beta must be in 0\.\.1, not 1\.5"),
        (dict(scale=[1, 1], rate=1), r"scale must have shape \[3\] or \[\], not \[2\]"),
        (dict(scale=1, rate=[1, 1, 1]), r"rate must have shape \[3, 2\] or \[2\], not \[3\]"),
        (dict(scale=-1, rate=1), "scale must be a number of at least 0, not -1.0"),
    ],
)
def test_bad_steps(values, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        hyperparameter_records(3, **values)
