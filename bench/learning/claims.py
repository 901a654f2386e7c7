"""What is claimed of training, a row a claim: ``CLAIMS``. A new row is a new claim.

A claim holds if each of its kinds that count reaches the threshold in as many of its seeds as are
needed. Runs of a claim: every kind, with seeds 0 to ``seeds`` - 1.
"""

from dataclasses import dataclass, field

from host.collect.environment_id import reward_threshold
from hw.config import check_range

__all__ = ["CLAIMS", "Claim", "Kind", "select"]


@dataclass(frozen=True, kw_only=True)
class Kind:
    """What learns: a column of the table, and a panel of the figure.

    Parameters
    ----------
    name : str
        Of the runs' folders.
    title : str
    what : str
        What it is, or how it differs from the others, for the document.
    learner, preset : str
        As for ``host.train.preset.preset``: which defaults.
    fields : dict
        What differs from them, by names and values as for ``host.settings.override``.
    kernel : dict
        Fields of the kernel's config, likewise.
    board : str
    counts : bool
        Whether the claim is about it; else it stands beside.
    peer : str, optional
        stable-baselines3 learns, as the function of ``bench.learning.peers`` of this name says.
    """

    name: str
    title: str
    what: str
    learner: str = "card"
    preset: str | None = None
    fields: dict = field(default_factory=dict)
    kernel: dict = field(default_factory=dict)
    board: str = "u200"
    counts: bool = True
    peer: str | None = None

    def __post_init__(self):
        if self.peer and self.counts:
            raise ValueError(f"counts must be False with a peer, not {self.counts!r}")


@dataclass(frozen=True, kw_only=True)
class Claim:
    """
    Parameters
    ----------
    name : str
        Of its document, its figure and the folder of its runs.
    algo, env : str
    kinds : tuple of Kind
    seeds, needed : int
        Of so many seeds, each kind that counts solves at least so many.
    source : str
        Where the claim comes from.
    until_solved : bool
        A run ends when an evaluation reaches the threshold and another one, on other episodes,
        confirms it; else it has all its steps.
    threshold : float, optional
        Mean greedy return that counts as solved; None is the environment's own.
    episodes : int, optional
        The best policy is judged by so many fresh episodes, the same for every run; None: by the
        run's own last evaluation, on episodes that did not choose it either.
    training : bool
        A run is judged by the mean return of its actors' last 100 episodes instead, and the curve
        is theirs.
    agree : tuple of str, optional
        Names of two kinds: their means over the seeds must differ by at most twice the standard
        error of the difference.
    fields : dict
        As a Kind's, for all of them.
    """

    name: str
    algo: str
    env: str
    kinds: tuple
    seeds: int
    needed: int
    source: str
    until_solved: bool = False
    threshold: float | None = None
    episodes: int | None = None
    training: bool = False
    agree: tuple | None = None
    fields: dict = field(default_factory=dict)

    def __post_init__(self):
        check_range("needed", self.needed, 0, self.seeds, " (seeds)")
        if self.training and self.episodes is not None:
            raise ValueError(f"episodes must be None with training, not {self.episodes!r}")
        names = [kind.name for kind in self.kinds]
        if not any(kind.counts for kind in self.kinds) or len(set(names)) < len(names):
            raise ValueError(f"kinds must be different, and one of them count, not {names}")
        if self.agree is not None and (len(self.agree) != 2 or set(self.agree) - set(names)):
            raise ValueError(f"agree must be two of {', '.join(names)}, not {self.agree!r}")

    @property
    def solved_from(self):
        """Mean return from which on a run counts as solved."""
        return reward_threshold(self.env) if self.threshold is None else self.threshold


def select(words, claims=None):
    """The claims that any of ``words`` names: by a claim's name, its algorithm or its environment;
    all where there are no words. ValueError for a word that names none."""
    claims = CLAIMS if claims is None else claims
    for word in words:
        if not any(word in _names(claim) for claim in claims):
            known = ", ".join(dict.fromkeys(name for each in claims for name in _names(each)))
            raise ValueError(f"ONLY must be of {known}, not {word!r}")
    return tuple(each for each in claims if not words or set(words) & set(_names(each)))


def _names(claim):
    return claim.name, claim.algo, claim.env


def _card(kind, title):
    return Kind(
        name=kind,
        title=title,
        what="all learning on the card",
        kernel={"learner.arithmetic.kind": kind},
    )


_ON_THE_CARD = (_card("float32", "card (binary32)"), _card("fixed", "card (fixed point)"))

#: the card's hyperparameters, so that only what trains differs
_CPU_BESIDE = Kind(
    name="cpu",
    title="CPU learner",
    what="the card's hyperparameters; the CPU trains, the card draws",
    fields={"learner": "cpu"},
    counts=False,
)

_CPU = Kind(name="cpu", title="CPU learner", what="the CPU trains, the card draws", learner="cpu")


def _heppo(preset, what):
    return Kind(name=preset, title=preset, what=what, learner="cpu", preset=preset, board="zcu106")


def _library(peer, what, **options):
    return Kind(
        name="stable-baselines3",
        title="stable-baselines3",
        what=what,
        learner="cpu",
        counts=False,
        peer=peer,
        **options,
    )


_ZOO = _library("zoo", "rl-baselines3-zoo's hyperparameters and steps")

#: defaults of the command line
_DEFAULTS = Kind(name="card", title="card, binary32", what="all learning on the card")


def _on_the_card(algo, env, source, peer=_ZOO):
    """A task of its own, by the defaults of the command line."""
    return Claim(
        name=f"{algo}-{env}",
        algo=algo,
        env=env,
        kinds=(_DEFAULTS, peer),
        seeds=3,
        needed=3,
        episodes=100,
        source=source,
    )


def _beside_the_card(algo):
    """Replay on the card, gradient steps beside it."""
    return Claim(
        name=f"{algo}-Pendulum-v1",
        algo=algo,
        env="Pendulum-v1",
        kinds=(_CPU,),
        seeds=3,
        needed=3,
        until_solved=True,
        source=f"an algorithm is one file: host/algorithms/{algo}.py, with replay on the card",
    )


_SAME_PPO = _library("ppo", "its PPO with the same hyperparameters", preset="heppo1")

_CF22 = (
    "CF'22 and PEARL leave training to a learner beside the replay memory; here it is on the card "
    "as a whole, and either arithmetic solves what the CPU solves"
)

CLAIMS = (
    Claim(
        name="dqn-CartPole-v1",
        algo="dqn",
        env="CartPole-v1",
        kinds=(*_ON_THE_CARD, _CPU_BESIDE),
        seeds=5,
        needed=4,
        until_solved=True,
        source=_CF22,
    ),
    Claim(
        name="ddpg-Pendulum-v1",
        algo="ddpg",
        env="Pendulum-v1",
        kinds=(*_ON_THE_CARD, _CPU_BESIDE),
        seeds=3,
        needed=2,
        until_solved=True,
        source=_CF22,
    ),
    Claim(
        name="dqn-cpu-CartPole-v1",
        algo="dqn",
        env="CartPole-v1",
        kinds=(_CPU,),
        seeds=10,
        needed=10,
        until_solved=True,
        fields={"steps": 120_000},
        source="the defaults of `--learner cpu` solve it within 120 000 steps",
    ),
    Claim(
        name="ddpg-cpu-Pendulum-v1",
        algo="ddpg",
        env="Pendulum-v1",
        kinds=(_CPU,),
        seeds=10,
        needed=10,
        until_solved=True,
        fields={"steps": 16_000},
        source="the defaults of `--learner cpu` solve it within 16 000 steps",
    ),
    Claim(
        name="ppo-CartPole-v1",
        algo="ppo",
        env="CartPole-v1",
        kinds=(_heppo("heppo1", "advantages from the card, nothing standardized"), _SAME_PPO),
        seeds=3,
        needed=3,
        until_solved=True,
        source="PPO's advantages may come from the card",
    ),
    Claim(
        name="ppo-Pendulum-v1",
        algo="ppo",
        env="Pendulum-v1",
        kinds=(
            _heppo("heppo1", "nothing standardized, 32-bit words"),
            _heppo("heppo2", "rewards by the statistics of all so far, 32-bit words"),
            _heppo("heppo3", "rewards and values by the rollout's, 8-bit codes, both restored"),
            _heppo("heppo4", "the same, rewards kept standardized"),
            _heppo(
                "heppo5",
                "rewards by the statistics of all so far and kept so, values restored, 8-bit codes",
            ),
            _SAME_PPO,
        ),
        seeds=3,
        needed=2,
        episodes=100,
        source="HEPPO's five experiments: none of its ways to standardize and to quantize keeps "
        "PPO from the solution",
    ),
    _beside_the_card("td3"),
    _beside_the_card("sac"),
    _on_the_card("dqn", "LunarLander-v3", "the second environment of CF'22"),
    _on_the_card("dqn", "Acrobot-v1", "sparse reward, by the defaults of the command line"),
    _on_the_card(
        "ddpg",
        "MountainCarContinuous-v0",
        "exploration that must last: Ornstein-Uhlenbeck noise, by the defaults of the command line",
        _library("zoo", "rl-baselines3-zoo's hyperparameters, for as many steps"),
    ),
)
