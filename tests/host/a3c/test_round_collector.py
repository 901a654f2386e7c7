"""host.a3c.round_collector: what each inference sees and each rollout holds, against environments
that are stepped one by one."""

from dataclasses import fields
from types import SimpleNamespace

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from host.a3c.round_collector import RoundCollector
from host.algorithms.config import Clock
from hw.fa3c.config import Fa3cConfig
from hw.fa3c.schedule import Schedule
from tests.host.round_parts import Numbered, value_of

MODES = list(AutoresetMode)
#: units, agents and group of a population, populations, steps: groups that are split over units,
#: a last one that is smaller, rounds in which a group does nothing, one that is a whole population,
#: cohorts of two groups of one agent and one of one
CASES = {
    "split": (("any", "any"), 5, 2, 2, 3),
    "gaps": (("infer", "train"), 9, 2, 3, 2),
    "whole": (("infer", "any"), 3, 3, 1, 4),
    "cohorts": (("any", "any", "infer"), 5, 1, 2, 3),
    "one step": (("any",), 4, 2, 2, 1),
}


def outputs_of(obs):
    """Logits and a value, by which an observation is known."""
    value = value_of(obs)
    return np.stack([np.sin(value), np.cos(value), value], axis=1).astype(np.float32)


POLICY = SimpleNamespace(choose=lambda outputs: outputs[:, -1].astype(int) % 2)


class Life:
    """An agent's environment by itself, and the rollout under way."""

    def __init__(self, seed, mode):
        self.env, self.mode, self.resetting = Numbered(), mode, False
        self.obs, _ = self.env.reset(seed=seed)
        self.rows, self.total = [], 0

    def step(self, length):
        """The episode that it ends, as a list of none or one."""
        outputs = outputs_of(self.obs[None])[0]
        action = int(outputs[-1]) % 2
        row = dict(outputs=outputs, action=action, valid=not self.resetting)
        if self.resetting:
            self.obs, _ = self.env.reset()
            reward, terminated, truncated, after = 0, False, False, self.obs
        else:
            after, reward, terminated, truncated, _ = self.env.step(action)
            self.obs = after
        self.resetting, ended = False, terminated or truncated
        self.total, self.steps = self.total + reward, self.env.time
        if ended and self.mode == AutoresetMode.NEXT_STEP:
            self.resetting = True
        elif ended:
            self.obs, _ = self.env.reset()
        cut = truncated and not terminated
        row |= dict(reward=np.float32(reward), terminated=terminated, truncated=cut)
        self.rows.append(row | dict(follows=value_of(after) if cut else 0))
        self.after, self.guest = after, cut and len(self.rows) < length
        if not ended:
            return []
        episode, self.total = (pytest.approx(self.total), self.steps), 0
        return [episode]


class Beside(SyncVectorEnv):
    """Are said to be stepped beside their caller; ``order`` has what was called."""

    order = None

    def step_async(self, actions):
        self.order.append("begin")
        self._asked = actions

    def step_wait(self):
        self.order.append("end")
        return self.step(self._asked)


class Watch:
    """A RoundCollector, and the same environments one by one."""

    def __init__(self, case, mode, seed=40, kind=SyncVectorEnv):
        units, agents, group, self.populations, self.steps = CASES[case]
        sizes = dict(height=1, width=1, channels=3, binary32=True, convolutions=(), hidden=(4,))
        sizes |= dict(batch=4, snapshots=8, steps=self.steps, outputs=3)
        kernel = Fa3cConfig(units=units, **sizes)
        self.schedule, self.mode = Schedule(kernel, agents, group), mode
        self.envs = [
            kind([Numbered] * len(each), autoreset_mode=mode)
            for each in self.schedule.groups * self.populations
        ]
        self.collector = RoundCollector(
            self.envs, self.schedule, populations=self.populations, seed=seed
        )
        self.restart(seed)

    def restart(self, seed):
        agents = self.schedule.agents
        self.lives = [
            [Life(seed + population * agents + agent, self.mode) for agent in range(agents)]
            for population in range(self.populations)
        ]
        self.clock, self.turn, self.stepped = Clock(), 0, 0
        self.last = [None] * self.populations

    def collect(self):
        """A turn: everything is as it must be. The request and the episodes."""
        population, number = self.turn % self.populations, self.turn // self.populations
        self.turn += 1
        request, episodes = self.collector.collect(POLICY, self.clock)
        assert request.population == population and request.plan == self.schedule.plan(number)
        guests = self.step(population, request, episodes)
        assert self.clock.steps == self.stepped
        lives = self.lives[population]
        for inference, seen in zip(request.plan.inferences, request.observations, strict=True):
            bootstrap = inference.step is None
            wanted = [lives[a].after if bootstrap else lives[a].obs for a in inference.agents]
            np.testing.assert_array_equal(seen, wanted)
        assert [group for group, _ in request.guests] == list(guests)
        for group, seen in request.guests:
            np.testing.assert_array_equal(seen, guests[group])
        request.answer(
            [outputs_of(seen) for seen in request.observations],
            [outputs_of(seen) for _, seen in request.guests],
        )
        return request, episodes

    def step(self, population, request, episodes):
        """By the last plan; what the guests of each group see."""
        lives, plan, wanted, guests, finished = self.lives[population], None, [], {}, set()
        if self.last[population] is not None:
            plan = self.last[population].plan
        for inference in plan.inferences if plan else ():
            if inference.step is None:
                finished.add(inference.group)
                continue
            for agent in inference.agents:
                wanted += lives[agent].step(self.steps)
                self.stepped += 1
                if lives[agent].guest:
                    guests.setdefault(inference.group, []).append(lives[agent].after)
        assert episodes == wanted
        assert set(request.finished) == finished
        for group, rollout in request.finished.items():
            self.check(rollout, [lives[agent] for agent in self.schedule.groups[group]])
        self.last[population] = request
        return dict(sorted(guests.items()))

    def check(self, rollout, lives):
        bootstrap = np.concatenate([value_of(life.after[None]) for life in lives])
        np.testing.assert_array_equal(rollout.bootstrap, bootstrap)
        for field in fields(rollout)[:-1]:
            found = getattr(rollout, field.name)
            wanted = np.array([[row[field.name] for row in life.rows] for life in lives])
            if field.name == "follows":
                found = np.where(rollout.truncated, found, 0)
            np.testing.assert_array_equal(found, wanted.swapaxes(0, 1), err_msg=field.name)
        for life in lives:
            life.rows = []

    def close(self):
        self.collector.close()


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.name)
@pytest.mark.parametrize("case", CASES)
def test_every_number_is_in_its_place(case, mode):
    watch, seen = Watch(case, mode), {"guests": 0, "finished": 0, "parts": 0, "idle": 0}
    for _ in range(80 * watch.populations):
        request, _ = watch.collect()
        seen["guests"] += len(request.guests)
        seen["finished"] += len(request.finished)
        inferred = {inference.group for inference in request.plan.inferences}
        seen["parts"] += len(request.plan.inferences) > len(inferred)
        seen["idle"] += any(group not in inferred for group, _ in request.guests)
    watch.close()
    assert seen["finished"] > 5
    if case != "one step":
        assert seen["guests"] > 5
    assert (seen["parts"] > 0) == (case in ("split", "whole"))
    assert (seen["idle"] > 0) == (case == "gaps"), "values of groups that are not inferred then"


def test_groups_are_stepped_beside_each_other():
    """Every group of a turn is at its step before the first is waited for."""
    watch, most = Watch("split", AutoresetMode.SAME_STEP, kind=Beside), 0
    for _ in range(60):
        order = []
        for envs in watch.envs:
            envs.order = order
        watch.collect()
        count = order.count("begin")
        assert order == ["begin"] * count + ["end"] * count
        most = max(most, count)
    watch.close()
    assert most > 1


def test_seeds_differ():
    """For all environments of all populations, and the first one's is the seed."""
    watch = Watch("split", AutoresetMode.SAME_STEP, seed=100)
    found = []
    for _ in range(8):
        request, _ = watch.collect()
        for inference, obs in zip(request.plan.inferences, request.observations, strict=True):
            if inference.step == 0:
                found += obs[:, 0].astype(int).tolist()
    assert sorted(set(found)) == list(range(100, 110))
    watch.close()


def test_a_restart_begins_anew():
    """In the middle of rollouts and of episodes; with requests that are not answered."""
    watch = Watch("split", AutoresetMode.SAME_STEP)
    for _ in range(13):
        watch.collect()
    assert watch.collector.state_dict() == {}
    watch.collector.restart(400)
    watch.collector.load_state_dict({})
    watch.restart(400)
    request, episodes = watch.collect()
    assert not request.finished and not request.guests and not episodes
    assert request.observations[0][0].tolist() == [400, 0, 0]
    for _ in range(30):
        watch.collect()
    watch.close()


def test_environments_are_closed():
    watch = Watch("split", AutoresetMode.SAME_STEP)
    watch.close()
    assert len(watch.envs) > 2 and all(envs.closed for envs in watch.envs)
