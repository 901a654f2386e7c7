"""The claims of training: ``CLAIMS``, with a row for each. A new row is a new claim."""

from dataclasses import replace

from bench.learning.a3c import A3C
from bench.learning.claim import AS_GOOD, Claim, Kind
from bench.learning.fixar import FIXAR
from hw.errors import UsageError

__all__ = ["CLAIMS", "select", "wanted"]


def _card(kind, title):
    return Kind(
        name=kind,
        title=title,
        what="all learning on the card",
        kernel={"learner.arithmetic.kind": kind},
    )


_ON_THE_CARD = (_card("float32", "card (binary32)"), _card("fixed", "card (fixed point)"))

_CPU_BESIDE = Kind(
    name="cpu",
    title="CPU learner",
    what="the card's hyperparameters; the CPU trains, the card draws",
    fields={"learner": "cpu"},
    counts=False,
)

_CPU = Kind(name="cpu", title="CPU learner", what="the CPU trains, the card draws", learner="cpu")


def _heppo(preset, what, **options):
    own = dict(name=preset, title=preset, learner="cpu", preset=preset, board="zcu106")
    return Kind(**own | options, what=what)


_HEPPO5 = (
    "rewards standardized by all rewards so far, values by the rollout and restored, 8-bit codes"
)


def _heppo_codes(env, steps, threshold, *, continuous):
    """Experiment 5 with 32-bit and with 8-bit results, and its baseline."""
    return Claim(
        name=f"ppo-{env.replace('/', '-')}",
        algo="ppo",
        env=env,
        kinds=(
            _heppo("heppo1", "nothing standardized, 32-bit words"),
            _heppo("heppo5", _HEPPO5, at_least=AS_GOOD),
            _heppo(
                "heppo5",
                f"{_HEPPO5}, 8-bit results",
                name="heppo5-results8",
                title="heppo5, 8-bit results",
                fields={"result_width": 8},
                at_least=AS_GOOD,
            ),
        ),
        reference="heppo1",
        seeds=5,
        needed=3,
        threshold=threshold,
        continuous=continuous,
        episodes=100,
        fields={"steps": steps},
        source="HEPPO's experiment 5 gains what the baseline gains (V-C), in longer tasks too",
    )


def _code_bits(bits):
    """heppo5 with codes of ``bits`` bits, in a kernel of 16-bit codes."""
    return _heppo(
        "heppo5",
        f"heppo5 with codes of {bits} bits",
        name=f"bits{bits}",
        title=f"{bits} bits",
        fields={"code_width": 16, "code_bits": bits},
        counts=bits >= 8,
    )


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

_DEFAULTS = Kind(name="card", title="card, binary32", what="all learning on the card")


def _on_the_card(algo, env, source, peer=_ZOO):
    """A task with the defaults of the command line."""
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


def _collected(kind, title, what, **options):
    """dqn in the formats of the ULX3S, with as many experiences as its memory has room for."""
    return Kind(
        name=kind,
        title=title,
        what=f"{what}; weights SQ(4, 14), 2048 experiences, 4-32-32-2, RMSProp",
        fields={"collect": kind, "capacity": 2048, "optimizer": "rmsprop", "hidden": (32, 32)},
        kernel={"learner.arithmetic.kind": "fixed", "learner.arithmetic.weight.fraction": 14},
        **options,
    )


def _as_a_task(algo, env, seeds, learner):
    """The command line's defaults in a task, and the same run in gymnasium's environment."""

    def kind(name, what, **options):
        return Kind(name=name, title=name, what=what, learner=learner, **options)

    return Claim(
        name=f"{algo}-rlfabric-{env}",
        algo=algo,
        env=f"rlfabric/{env}",
        kinds=(
            kind("task", "rlfabric's environment, in 32-bit fixed point", at_least=AS_GOOD),
            kind("gymnasium", "the same run there, in float64", env=env, counts=False),
        ),
        reference="gymnasium",
        seeds=seeds,
        needed=seeds,
        until_solved=True,
        source="an environment is a program of 32-bit words (docs/environments.md), in which "
        "agents learn as in gymnasium's",
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
        continuous=False,
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
            _heppo("heppo2", "rewards standardized by all rewards so far, 32-bit words"),
            _heppo(
                "heppo3", "rewards and values standardized by the rollout, 8-bit codes, restored"
            ),
            _heppo("heppo4", "as heppo3, but rewards stay standardized"),
            _heppo(
                "heppo5",
                "rewards standardized by all rewards so far, values as of heppo3, 8-bit codes",
            ),
            _SAME_PPO,
        ),
        seeds=3,
        needed=2,
        episodes=100,
        source="HEPPO's five experiments: none of its ways to standardize and to quantize keeps "
        "PPO from the solution",
    ),
    Claim(
        name="ppo-bits-Pendulum-v1",
        algo="ppo",
        env="Pendulum-v1",
        kinds=tuple(_code_bits(bits) for bits in range(3, 11)),
        seeds=3,
        needed=2,
        episodes=100,
        source="HEPPO's codes of 3 to 10 bits (V-B, Fig. 8, 9): with the 8 bits that it chooses, "
        "and with more, PPO solves the task",
    ),
    _heppo_codes("MinAtar/Breakout-v1", 1_000_000, 2.1, continuous=False),
    _heppo_codes("HalfCheetah-v5", 1_000_000, 1000.0, continuous=True),
    _beside_the_card("td3"),
    _beside_the_card("sac"),
    replace(
        _beside_the_card("td3"),
        name="td3-card-Pendulum-v1",
        kinds=(*(replace(kind, learner="card") for kind in _ON_THE_CARD), _ZOO),
        source="PEARL names TD3 among its algorithms: all three networks learn on the card",
    ),
    _as_a_task("dqn", "CartPole-v1", 5, "card"),
    Claim(
        name="dqn-collect-CartPole-v1",
        algo="dqn",
        env="CartPole-v1",
        kinds=(
            _collected("card", "card", "the card collects and learns"),
            _collected("cpu", "host", "the host collects, the card learns", counts=False),
        ),
        seeds=5,
        needed=5,
        until_solved=True,
        episodes=100,
        fields={"steps": 30_000},
        source="a whole agent on the card, in the formats of a small part: it plays a task in "
        "fixed point, and is judged in gymnasium's environment",
    ),
    _as_a_task("td3", "Pendulum-v1", 3, "cpu"),
    _on_the_card("dqn", "LunarLander-v3", "the second environment of CF'22"),
    _on_the_card("dqn", "Acrobot-v1", "sparse reward, by the defaults of the command line"),
    _on_the_card(
        "ddpg",
        "MountainCarContinuous-v0",
        "exploration that must last: Ornstein-Uhlenbeck noise, by the defaults of the command line",
        _library("zoo", "rl-baselines3-zoo's hyperparameters, for as many steps"),
    ),
    Claim(
        name="dqn-MinAtar-Breakout-v1",
        algo="dqn",
        env="MinAtar/Breakout-v1",
        kinds=(
            replace(_CPU, at_least=AS_GOOD),
            _library(
                "dqn",
                "its DQN with the same network and hyperparameters; it draws uniformly, and is not "
                "double",
            ),
        ),
        reference="stable-baselines3",
        seeds=3,
        needed=3,
        threshold=4.6,
        episodes=100,
        fields={"steps": 300_000, "epsilon_steps": 40_000},
        source="CF'22 and PEARL learn from pixels with the replay memory on the card: more than "
        "ten times what random actions return, and as good as a library's DQN",
    ),
    *A3C,
    *FIXAR,
)


def select(words, claims=None):
    """The claims that any of ``words`` names: by a claim's name, its algorithm or its environment,
    or by ``CLAIM/KIND`` or ``CLAIM/KIND-SEED``; without words, all claims. ValueError if a word
    names none."""
    claims = CLAIMS if claims is None else claims
    for word in words:
        if not any(word in _names(claim) or word in _runs(claim) for claim in claims):
            known = ", ".join(dict.fromkeys(name for each in claims for name in _names(each)))
            raise UsageError(
                f"ONLY must be one of {known}, or CLAIM/KIND or CLAIM/KIND-SEED of one, "
                f"not {word!r}"
            )
    return tuple(each for each in claims if not words or set(words) & {*_names(each), *_runs(each)})


def wanted(words, claim, kind, seed):
    """Whether ``words``, as of ``select``, name the run of ``claim`` of the kind called ``kind``
    with ``seed``."""
    own = {*_names(claim), f"{claim.name}/{kind}", f"{claim.name}/{kind}-{seed}"}
    return not words or bool(own & set(words))


def _names(claim):
    return claim.name, claim.algo, claim.env


def _runs(claim):
    for kind in claim.kinds:
        yield f"{claim.name}/{kind.name}"
        yield from (f"{claim.name}/{kind.name}-{seed}" for seed in claim.seeds_of(kind))
