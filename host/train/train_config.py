"""Training runs of each kind of algorithm, and their presets."""

from dataclasses import dataclass
from typing import Annotated

from host.algorithms.ddpg_config import DDPGConfig
from host.algorithms.dqn_config import DQNConfig
from host.algorithms.ppo_config import HEPPO, PPOConfig
from host.collect.environment import has_continuous_actions
from host.rules import FRACTION, Integer, Number, check_choice
from host.train.run_config import LEARNERS, RunConfig
from hw.config import check_range

__all__ = [
    "ALGORITHMS",
    "CARD_WIDTH",
    "LEARNERS",
    "PRESETS",
    "OnPolicyConfig",
    "TrainConfig",
    "default_learner",
]
__all__ += ["preset"]

#: name -> what it is
ALGORITHMS = {
    "dqn": "deep Q-network with prioritized replay; discrete actions",
    "ddpg": "deep deterministic policy gradient with prioritized replay; continuous actions",
    "ppo": "proximal policy optimization, advantages from the card; discrete or continuous actions",
}

#: limits of the learner's kernel (``hw.learner.config``), said before one is made
CARD_WIDTH, _CARD_LAYERS = 512, 4

#: algorithm -> names of its presets, the default first; none has but one
PRESETS = {"ppo": tuple(HEPPO)}


@dataclass(frozen=True, kw_only=True)
class TrainConfig(RunConfig):
    """A run that learns from a replay memory; the defaults are dqn's on the CPU."""

    algo: str = "dqn"
    #: Learner card: learner iterations for one launch.
    updates_per_launch: Annotated[int, Integer(1, 1 << 12)] = 1
    #: Learner card: launches between one fetch of the weights that act and the next.
    weights_interval: Annotated[int, Integer(1, 1 << 31)] = 1
    #: Experiences that the replay buffer holds.
    capacity: Annotated[int, Integer(2, 1 << 30)] = 1 << 15
    #: Exponent of the priorities.
    alpha: Annotated[float, FRACTION] = 0.6
    #: What is added to the magnitude of a TD error before it becomes a priority.
    priority_epsilon: Annotated[float, Number("in (0, 1]", lambda x: 0 < x <= 1)] = 0.01
    #: Experiences in the buffer before learning starts: batch_size to capacity.
    learning_starts: int = 1000
    #: The agent of dqn; None is its defaults, and what it is where ``algo`` is another.
    dqn: DQNConfig | None = None
    #: The agent of ddpg, likewise.
    ddpg: DDPGConfig | None = None

    AGENTS = {"dqn": DQNConfig, "ddpg": DDPGConfig}

    def __post_init__(self):
        super().__post_init__()
        why = " (capacity)"
        check_range("batch_size", self.agent.batch_size, 1, self.capacity, why)
        check_range(
            "learning_starts",
            self.learning_starts,
            self.agent.batch_size,
            self.capacity,
            " (batch_size..capacity)",
        )
        self._check_learner()

    def _check_learner(self):
        """Rules of one learner alone."""
        if self.learner == "cpu":
            for name in ("updates_per_launch", "weights_interval"):
                value = getattr(self, name)
                if value != 1:
                    raise ValueError(f"{name} must be 1 with learner cpu, not {value!r}")
            return
        if not 1 <= len(self.agent.hidden) <= _CARD_LAYERS:
            raise ValueError(
                f"hidden must be 1 to {_CARD_LAYERS} widths on the card, not {self.agent.hidden!r}"
            )
        for width in self.agent.hidden:
            check_range("hidden", width, 1, CARD_WIDTH, " on the card")
        if self.agent.max_gradient_norm is not None:
            raise ValueError(
                "max_gradient_norm must be None with learner card, "
                f"not {self.agent.max_gradient_norm!r}"
            )
        if getattr(self.agent, "dueling", False):
            raise ValueError("dueling must be False with learner card, not True")


@dataclass(frozen=True, kw_only=True)
class OnPolicyConfig(RunConfig):
    """A run that learns from each rollout once: ``steps_per_launch`` steps of each environment."""

    algo: str = "ppo"
    steps: int = 100_000
    #: Steps of each environment in a rollout, 2 or more.
    steps_per_launch: Annotated[int, Integer(2, 1 << 12)] = 128
    evaluation_interval_steps: int = 5 * 1024
    log_interval_steps: int = 1024
    checkpoint_interval_steps: int = 50 * 1024
    #: The agent; None is its defaults.
    ppo: PPOConfig | None = None

    AGENTS = {"ppo": PPOConfig}

    def __post_init__(self):
        super().__post_init__()
        if self.learner != "cpu":
            raise ValueError(
                f"learner must be cpu for {self.algo} (the card estimates advantages, the CPU "
                f"trains), not {self.learner!r}"
            )
        samples = self.env_count * self.steps_per_launch
        why = " (steps of a rollout, all environments together)"
        check_range("batch_size", self.agent.batch_size, 1, samples, why)


_CONFIGS = {name: kind for kind in (TrainConfig, OnPolicyConfig) for name in kind.AGENTS}

#: what differs from the fields' defaults, which are for dqn on the CPU, and for ppo
_PRESETS = {
    "dqn": {},
    "ddpg": dict(
        env="Pendulum-v1",
        steps=40_000,
        env_count=4,
        learning_starts=256,
        evaluation_interval_steps=1000,
        log_interval_steps=400,
        checkpoint_interval_steps=20_000,
        evaluation_episodes=50,
    ),
    "ppo": {},
}
#: what differs again on the card: networks that a kernel holds, and for ``dqn`` few gradient steps
#: on much experience, with values of the order of 1 as fixed point wants them
_CARD = {
    "dqn": dict(
        steps=100_000,
        steps_per_launch=4,
        dqn=dict(
            hidden=(64, 64),
            activation="tanh",
            n_step=10,
            reward_scale=0.1,
            batch_size=32,
            learning_rate=4e-3,
            max_gradient_norm=None,
            double=False,
            epsilon_steps=8000,
        ),
    ),
}
#: what differs again where actions are a Box: stable-baselines3's numbers for PPO, and normalized
#: observations, as always advised by Andrychowicz et al. (What Matters In On-Policy Reinforcement
#: Learning?, 2020, 3.3)
_CONTINUOUS = {
    "ppo": dict(
        steps=1_000_000,
        env_count=1,
        steps_per_launch=2048,
        evaluation_interval_steps=10 * 2048,
        log_interval_steps=2048,
        ppo=dict(
            normalize_observations=True,
            gamma=0.99,
            gae_lambda=0.95,
            batch_size=64,
            learning_rate=3e-4,
        ),
    ),
}
#: what differs in an environment that is learned best in another way, instead of that
_ENVIRONMENTS = {
    ("ppo", "Pendulum-v1"): dict(
        env="Pendulum-v1",
        steps=120_000,
        env_count=4,
        steps_per_launch=512,
        evaluation_interval_steps=5 * 2048,
        evaluation_episodes=50,
        ppo=dict(
            gamma=0.9,
            gae_lambda=0.95,
            batch_size=64,
            learning_rate_final=1e-5,
            learning_rate_steps=120_000,
        ),
    ),
}


def _environments(algo, env):
    """What differs in the environment ``env``."""
    if env is None:
        return {}
    own = _ENVIRONMENTS.get((algo, env.rpartition(":")[2]))
    if own is not None or algo not in _CONTINUOUS:
        return own or {}
    return _CONTINUOUS[algo] if has_continuous_actions(env) else {}


def default_learner(algo):
    """The card, where the algorithm has a kernel that trains; else the CPU."""
    return "cpu" if _CONFIGS[algo] is OnPolicyConfig else "card"


def preset(algo, learner, name=None, env=None):
    """The default config of an algorithm on a learner, as ``PRESETS`` call it, in an environment:
    ``dqn`` and ``ppo`` solve CartPole-v1, ``ddpg`` Pendulum-v1; ``ppo`` has others where actions
    are continuous.

    ``name`` None is the first of PRESETS; ``env`` None is the algorithm's own. ValueError, besides
    for the arguments, as of ``has_continuous_actions``.
    """
    check_choice("algo", algo, ALGORITHMS)
    check_choice("learner", learner, LEARNERS)
    names = PRESETS.get(algo, ())
    if name is not None and not names:
        having = "; ".join(f"{each} has {', '.join(some)}" for each, some in PRESETS.items())
        raise ValueError(
            f"preset must be none for {algo}, which has no presets, not {name!r} ({having})"
        )
    if name is not None and name not in names:
        raise ValueError(f"preset must be one of {', '.join(names)}, not {name!r}")
    values = {"algo": algo, "learner": learner, **_PRESETS[algo]}
    if learner == "card":
        values |= _CARD.get(algo, {})
    values |= {} if env is None else {"env": env}
    values |= _environments(algo, env)
    if names:
        values[algo] = values.get(algo, {}) | HEPPO[name or names[0]]
    return _CONFIGS[algo].from_dict(values)
