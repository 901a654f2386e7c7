"""The tasks that are solved, the sides that solve them, and their numbers: ``TASKS``.

Each task has one rule, ``Task``, which is the same for all of its sides: threshold, interval and
episodes of evaluations. A side is a program with its numbers. ``own`` is rlfabric as it is shipped.
``own-equal`` draws uniformly and sums one step of reward, and has a single step size, a constant
noise and uniform actions before learning where stable-baselines3 has no more; ``sb3-equal`` is
stable-baselines3 with these numbers. ``sb3-zoo`` has rl-baselines3-zoo's
(``bench.learning.peers``). ``rltools`` is RLtools as its Python package is shipped.
"""

import json
from dataclasses import asdict, dataclass, field, replace

from bench.learning.peers import PEERS, PeerPlan, zoo
from host.agents.registry import find
from host.runs.preset import default_learner, preset
from host.runs.run_kinds import CONFIGS
from host.settings import override
from hw.errors import UsageError

__all__ = ["SIDES", "TASKS", "Task", "chosen", "config_of", "numbers_of"]
__all__ += ["request"]

#: name of a side -> its title
SIDES = {
    "own": "rlfabric, as shipped",
    "own-equal": "rlfabric, equal draws",
    "sb3-equal": "stable-baselines3, equal draws",
    "sb3-zoo": "stable-baselines3, rl-zoo's numbers",
    "rltools": "RLtools, as shipped",
}


@dataclass(frozen=True, kw_only=True)
class Task:
    """A task and its rule: it is solved by two consecutive evaluations with a mean return of at
    least ``threshold``, at the step of the first.

    Parameters
    ----------
    algo, env : str
        Algorithm; gymnasium's id of the environment.
    threshold : float
        Mean return of an evaluation that passes.
    interval : int
        Environment steps from one evaluation to the next.
    episodes, limit : int
        Episodes of an evaluation, and steps after which one is broken off.
    sides : tuple of str
        Names in SIDES.
    fields : dict
        Fields of the run that are not the command line's defaults.
    equal : dict
        Further fields of ``own-equal``, and so of ``sb3-equal``.
    uniform_start : bool
        Whether ``own-equal`` draws uniform actions before learning starts.
    """

    algo: str
    env: str
    threshold: float
    interval: int
    episodes: int = 20
    limit: int = 1000
    sides: tuple = ("own", "own-equal", "sb3-equal", "sb3-zoo")
    fields: dict = field(default_factory=dict)
    equal: dict = field(default_factory=dict)
    uniform_start: bool = False

    @property
    def name(self):
        return f"{self.algo}-{self.env.replace('/', '-')}"

    @property
    def rule(self):
        """The dict of all that decides when the task is solved."""
        names = ("env", "threshold", "interval", "episodes", "limit")
        return {name: getattr(self, name) for name in names}


_APART = ("evaluation_", "log_", "checkpoint_")
_UNIFORM = dict(memory="ring", n_step=1)
#: one step size and one deviation of the noise, as stable-baselines3's DDPG and TD3
_ONE_RATE = dict(
    _UNIFORM, loss="mse", learning_rate=2e-3, actor_learning_rate=2e-3, noise_start=0.1,
    noise_end=0.1,
)  # fmt: skip
_PENDULUM = dict(env="Pendulum-v1", threshold=-200.0, interval=1000)
_BREAKOUT = dict(env="MinAtar/Breakout-v1", threshold=4.6, interval=20_000, limit=10_000)
_ON_POLICY = ("own", "sb3-equal", "sb3-zoo")

#: RLtools 2.2.1's defaults but for the steps; those that count gradient steps are named
_RLTOOLS = {
    "sac": dict(steps=20_000, arguments=dict(N_WARMUP_STEPS=100)),
    "td3": dict(steps=20_000, arguments=dict(N_WARMUP_STEPS=100)),
    "ppo": dict(
        steps=300_000,
        env_count=64,
        arguments=dict(ON_POLICY_RUNNER_STEPS_PER_ENV=64, N_EPOCHS=10, BATCH_SIZE=64),
    ),
}

TASKS = (
    Task(
        algo="dqn",
        env="CartPole-v1",
        threshold=475.0,
        interval=1000,
        equal=dict(_UNIFORM, double=False),
    ),
    Task(algo="ppo", env="CartPole-v1", threshold=475.0, interval=2000, sides=_ON_POLICY),
    Task(algo="ddpg", equal=_ONE_RATE, uniform_start=True, **_PENDULUM),
    Task(
        algo="td3",
        sides=(*Task.sides, "rltools"),
        equal=_ONE_RATE,
        uniform_start=True,
        **_PENDULUM,
    ),
    Task(
        algo="sac",
        sides=(*Task.sides, "rltools"),
        equal=dict(_UNIFORM, loss="squared"),
        **_PENDULUM,
    ),
    Task(algo="ppo", sides=(*_ON_POLICY, "rltools"), **_PENDULUM | dict(interval=4096)),
    Task(
        algo="dqn",
        sides=("own", "own-equal", "sb3-equal"),
        fields=dict(steps=300_000, epsilon_steps=40_000),
        equal=dict(_UNIFORM, double=False),
        **_BREAKOUT,
    ),
    Task(algo="a3c", sides=("own",), **_BREAKOUT),
)


def chosen(words, tasks=TASKS):
    """``[(task, side)]`` that any of ``words`` names: by a task's name, its algorithm, its
    environment, a side, or ``TASK/SIDE``; all without words. UsageError if a word names none."""
    found = [
        (task, side, {task.name, task.algo, task.env, side, f"{task.name}/{side}"})
        for task in tasks
        for side in task.sides
    ]
    for word in words:
        if not any(word in names for *_, names in found):
            known = dict.fromkeys([task.name for task in tasks] + [side for _, side, _ in found])
            raise UsageError(f"only must be of {', '.join(known)}, or TASK/SIDE, not {word!r}")
    return [(task, side) for task, side, names in found if not words or names & {*words}]


def request(task, side, config=None):
    """All that decides a side's run but the seed, as a dict of JSON values: ``rule``, ``program``,
    and the program's numbers. ``config`` stands for the shipped RunConfig, if it is not None."""
    shipped = config or preset(
        task.algo, default_learner(task.algo, task.env), env=task.env, continuous=_continuous(task)
    )
    config = override(shipped, task.fields | {"seed": 0})
    equal = override(config, task.equal)
    if side in ("own", "own-equal"):
        numbers = {"config": numbers_of(config if side == "own" else equal)}
        if side == "own-equal" and task.uniform_start:
            numbers["uniform_start"] = True
    elif side == "sb3-equal":
        numbers = _library(*_bare(equal))
    elif side == "rltools":
        plan = PeerPlan(algorithm=task.algo.upper(), **_RLTOOLS[task.algo])
        numbers = {"plan": asdict(plan)}
    else:
        numbers = _library(zoo(config), rescaled=False)
    program = "rlfabric" if side.startswith("own") else side.partition("-")[0]
    return json.loads(json.dumps({"rule": task.rule, "program": program, **numbers}))


def numbers_of(config):
    """``{field: value}`` of a RunConfig, as JSON values, without evaluations and files: the rule
    has the former, and nothing is written."""
    found = config.in_run().to_dict()
    return {name: value for name, value in found.items() if not name.startswith(_APART)}


def config_of(values):
    """The RunConfig of the JSON values in a request."""
    return CONFIGS[find(values["algo"]).learns_from].from_dict(values)


def _continuous(task):
    return task.env == "Pendulum-v1" if task.algo == "ppo" else None


def _bare(config):
    """``(plan, activation, reward_scale)``: stable-baselines3 has no argument for the last two."""
    agent = config.agent
    if config.algo == "ppo":
        return PEERS["ppo"](config), agent.activation, 1.0
    plain = replace(config, agent=replace(agent, activation="relu", reward_scale=1.0))
    return PEERS[config.algo](plain), agent.activation, agent.reward_scale


def _library(plan, activation=None, reward_scale=1.0, rescaled=True):
    return {
        "plan": asdict(plan),
        "activation": activation,
        "reward_scale": reward_scale,
        "rescaled": rescaled,
    }
