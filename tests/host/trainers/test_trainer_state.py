"""What a trainer's attributes are is saved, or refused by name, whatever shape they have."""

import copy
import io
import random
import re

import numpy as np
import pytest
import torch

from host import checkpoint
from host.agents.policy_file import check_policy, load_policy, save_policy
from host.algorithms.config import Clock
from host.trainers.restoration import check_names
from host.trainers.trainer import seeded
from host.trainers.value_kinds import same
from hw.errors import UsageError
from tests.host.agent_parts import make_batch
from tests.host.compose.trainer_files import DISCRETE
from tests.host.trainers.trainer_shapes import REFUSED, REFUSED_LATER, SHAPES, written

BATCHES = [make_batch(DISCRETE, seed=k) for k in range(8)]
OBS = BATCHES[0]["obs"]


def made(algorithm, seed=1, **config):
    policy = algorithm.policy(algorithm.config(**config), DISCRETE, weights=seed, exploration=2)
    return policy, algorithm.updater(policy, seed=3)


def states(agent):
    return {"policy": agent[0].state_dict(), "updater": agent[1].state_dict()}


def steps(agent, first, last):
    """TD errors and actions of some steps, which depend on all of the state."""
    found = []
    for k in range(first, last):
        found.append(agent[1].update(BATCHES[k], Clock(updates=k))[0])
        found.append(agent[0].act(OBS, steps=k))
        found.append(agent[0].act(OBS, greedy=True))
    return found


def through_a_file(state):
    file = io.BytesIO()
    checkpoint.save(file, "training", {}, state)
    return checkpoint.load(file, "training")[1]


def loaded(algorithm, state, seed=9):
    agent = made(algorithm, seed)
    agent[0].load_state_dict(state["policy"])
    agent[1].load_state_dict(state["updater"])
    return agent


@pytest.mark.parametrize("name", SHAPES)
def test_each_shape_of_state(name, tmp_path):
    """A resumed one goes on to the byte; from its policy's file, and by what is sent to actors,
    another acts as it does. All generators are as they were before."""
    algorithm = written(tmp_path, SHAPES[name])
    outside = random.getstate(), np.random.get_state()[1].tobytes(), torch.get_rng_state()
    whole = made(algorithm)
    steps(whole, 0, 3)
    state = states(whole)
    assert same(through_a_file(state), through_a_file(states(whole))), "saving changes nothing"
    resumed = loaded(algorithm, through_a_file(state))
    assert same(through_a_file(state), through_a_file(states(resumed)))

    file = io.BytesIO()
    save_policy(file, whole[0], algo=algorithm.name, env="E-v0", score=0.0)
    check_policy(file, whole[0], OBS)
    actor = made(algorithm, seed=5)[0]
    actor.load_snapshot(whole[0].snapshot)
    whole[0].check_copy(actor, OBS)
    assert same(through_a_file(state), through_a_file(states(whole))), "neither does reading"

    for mine, its in zip(steps(whole, 3, 7), steps(resumed, 3, 7), strict=True):
        np.testing.assert_array_equal(mine, its)
    assert same(through_a_file(states(whole)), through_a_file(states(resumed)))
    assert outside[:2] == (random.getstate(), np.random.get_state()[1].tobytes())
    assert torch.equal(outside[2], torch.get_rng_state())


def test_a_state_stays_as_it_was(tmp_path):
    """Also in arrays that acting changes in place."""
    agent = made(written(tmp_path, SHAPES["frozen dataclass"]))
    steps(agent, 0, 1)
    state = states(agent)
    before = copy.deepcopy(state)
    steps(agent, 1, 2)
    assert same(state, before) and not same(states(agent), before)


def test_what_is_one_object_stays_one(tmp_path):
    algorithm = written(tmp_path, SHAPES["tensor"])
    agent = loaded(algorithm, through_a_file(states(made(algorithm))))
    trainer = agent[0].trainer
    assert trainer.again is trainer.log_a is trainer.a_opt.param_groups[0]["params"][0]


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_saved_is_refused_at_first(name, tmp_path):
    parts, message = REFUSED[name]
    with pytest.raises(UsageError, match=f"^{message}"):
        made(written(tmp_path, parts))


@pytest.mark.parametrize("name", REFUSED_LATER)
def test_what_comes_later_is_refused_after_a_step(name, tmp_path):
    parts, message = REFUSED_LATER[name]
    agent = made(written(tmp_path, parts))
    with pytest.raises(UsageError, match=f"^{message}"):
        agent[1].update(BATCHES[0], Clock())


def test_what_comes_after_the_first_step_is_refused_at_the_checkpoint(tmp_path):
    parts = SHAPES["numbers"] | {"updated": "self.k += 1; self.f = open(__file__) if self.k > 2 "
                                 "else 0; return -reward"}  # fmt: skip
    agent = made(written(tmp_path, parts))
    steps(agent, 0, 2)
    states(agent)
    agent[1].update(BATCHES[3], Clock())
    with pytest.raises(UsageError, match="^f must be a module, .* not TextIOWrapper"):
        states(agent)


@pytest.mark.parametrize(
    "place, name, value",
    [
        ("numbers", "get_action", 1),
        ("numbers", "other", 1),
        ("numbers", "q", 1),
        ("attributes", "get_action", 1),
        ("attributes", "other", 1),
        ("attributes", "q", 1),
        ("attributes", "q", {"object": {}}),
        ("attributes", "k", {"open": "f"}),
        ("attributes", "k", {"same": "__class__"}),
    ],
)
def test_a_checkpoint_sets_what_the_trainer_has(place, name, value, tmp_path):
    algorithm = written(tmp_path, SHAPES["numbers"])
    state = through_a_file(states(made(algorithm)))
    parts = {
        "numbers": state["updater"]["numbers"],
        "attributes": state["policy"]["parameters"]["(attributes)"],
    }
    parts[place][name] = value
    with pytest.raises(checkpoint.CheckpointError, match=f"^{name} must be [^\n]* checkpoint"):
        loaded(algorithm, state)


class Rate:
    def __init__(self):
        self.factor = 0.5

    def __call__(self, epoch):
        return self.factor


@pytest.mark.parametrize(
    "path", ["", "_schedulers[1].", "_schedulers[0].", "_schedulers[0].lr_lambdas[0]."]
)
def test_a_checkpoint_sets_what_a_schedule_has(path):
    """Also those inside a sequence of schedules, and objects that give the factors."""
    schedules, opt = torch.optim.lr_scheduler, torch.optim.SGD([torch.zeros(1)], 1.0)
    inner = [schedules.LambdaLR(opt, Rate()), schedules.StepLR(opt, 2)]
    schedule = schedules.SequentialLR(opt, inner, [3])
    state = schedule.state_dict()
    check_names(schedule, state, "s.")
    place = state
    for word in re.findall(r"\w+", path):
        place = place[int(word) if word.isdecimal() else word]
    place["__call__"] = 1
    with pytest.raises(checkpoint.CheckpointError, match=rf"^s\.{re.escape(path)}__call__ must be"):
        check_names(schedule, state, "s.")


def test_a_network_of_another_shape_is_one_line(tmp_path):
    algorithm = written(tmp_path, SHAPES["numbers"])
    state = through_a_file(states(made(algorithm)))
    state["updater"]["networks"]["q"]["0.bias"] = np.zeros(5, np.float32)
    with pytest.raises(
        checkpoint.CheckpointError, match="^checkpoint must hold [^\n]*0.bias[^\n]*$"
    ):
        loaded(algorithm, state)


def test_a_checkpoint_of_before_goes_on_if_it_has_all(tmp_path):
    """Those had modules, optimizers and numbers alone."""
    for name, lacking in (("numbers", None), ("tensor", "log_a"), ("random", r"gens\[0\]")):
        algorithm = written(tmp_path, SHAPES[name])
        agent = made(algorithm)
        steps(agent, 0, 2)
        state = through_a_file(states(agent))
        del state["policy"]["parameters"]["(attributes)"], state["policy"]["draws"]
        del state["updater"]["gradients"]
        if lacking is None:
            trainer = loaded(algorithm, state)[0].trainer
            assert trainer.rate == agent[0].trainer.rate == 0.9**2 and trainer.k == 2
            continue
        with pytest.raises(UsageError, match=f"^{lacking} must be in a file of this trainer"):
            loaded(algorithm, state)


def test_a_policy_that_acts_otherwise_from_its_file(tmp_path):
    parts = SHAPES["dict"] | {"acted": "global CALLS; CALLS = globals().get('CALLS', 0) + 1;"
                              " return torch.zeros(len(obs)).long() + CALLS % 3"}  # fmt: skip
    algorithm = written(tmp_path, parts)
    policy, file = made(algorithm)[0], io.BytesIO()
    save_policy(file, policy, algo=algorithm.name, env="E-v0", score=0.0)
    with pytest.raises(UsageError, match="^a policy must act from its file as it was judged, not"):
        check_policy(file, policy, OBS)
    assert load_policy(file)[1]["algo"] == algorithm.name


def test_generators_of_the_process_do_not_give_the_same_numbers():
    with seeded(np.random.default_rng(0)):
        found = {random.random(), float(np.random.rand()), float(torch.rand(1).double())}
    assert len({round(x, 5) for x in found}) == 3


def test_a_dict_of_the_batch_does_not_ask_for_done(tmp_path):
    parts = SHAPES["dict"] | {"updated": "pass"}
    algorithm = written(tmp_path, parts)
    kind = algorithm.config.CONTRACT.kind
    kind.update_policy = lambda self, batch: self.seen.append({*dict(batch)})
    kind.seen = property(lambda self: SEEN)
    from host.trainers.trainer import algorithm_of

    for n_step, done in ((3, False), (1, True)):
        SEEN.clear()
        made(algorithm_of(algorithm.name, kind), n_step=n_step)[1].update(BATCHES[0], Clock())
        assert ("done" in SEEN[0]) is done and "discount" in SEEN[0]


SEEN = []
