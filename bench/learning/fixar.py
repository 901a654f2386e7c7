"""FIXAR's claims of training (VI-B, VI-C, Fig. 7): its tasks, and the arithmetics that it compares.

The paper trains for a million steps; most of these are of fewer, so arithmetics are compared at
equal steps, and with binary32 rather than with the paper's returns. One seed decides nothing.
"""

from bench.learning.claim import AS_GOOD, Claim, Kind

__all__ = ["FIXAR"]

_SOURCE = "FIXAR's Fig. 7: fixed point trains the agent as binary32 does"

_FLOAT32 = Kind(
    name="float32",
    title="binary32",
    what="the CPU trains in binary32, the card draws",
    learner="cpu",
)


def _on_the_card(precision, title, what, **options):
    """The kernel trains and acts; card ``model`` computes its bits."""
    return Kind(
        name=precision,
        title=title,
        what=what,
        learner="card",
        fields={"design": "fixar", "precision": precision},
        **options,
    )


def _switched(**options):
    return _on_the_card(
        "qat",
        "16 bits from half of the run on",
        "kernel fixar, half precision after the switch",
        **options,
    )


def _fixed(**options):
    what = "kernel fixar, full precision throughout"
    return _on_the_card("fixed32", "fixed 32 bits", what, **options), _switched(**options)


_PENDULUM = Claim(
    name="fixar-Pendulum-v1",
    algo="ddpg",
    env="Pendulum-v1",
    kinds=(_switched(recovers=True),),
    seeds=3,
    needed=3,
    source=_SOURCE,
    fields={"lagged_critic": False},
)


def _in_16_bits(precision, title, what, **options):
    """A reading of the paper's agent with 16 bits from the start, which fails in the paper. No
    kernel has all readings, so the CPU trains in the same arithmetic."""
    return Kind(
        name=precision,
        title=title,
        what=f"16 bits from the first gradient step on, {what}",
        learner="cpu",
        fields={"precision": precision},
        counts=False,
        seeds=1,
        **options,
    )


_16_BITS = (
    _in_16_bits(
        "fixed16_all", "16 bits, all", "weights SQ(4,12), everything else SQ(8,8)", at_most=0.5
    ),
    _in_16_bits("fixed16_static", "16 bits, static", "activations and errors SQ(8,8)"),
    _in_16_bits(
        "fixed16_captured",
        "16 bits, captured",
        "activations and errors by the ranges of the first gradient step",
    ),
)


def _task(env, steps, threshold, *, seeds=1, name=None, beside=()):
    return Claim(
        name=name or f"fixar-{env}",
        algo="ddpg",
        env=env,
        kinds=(_FLOAT32, *_fixed(at_least=AS_GOOD), *beside),
        seeds=seeds,
        needed=seeds,
        threshold=threshold,
        reference="float32",
        late=True,
        source=_SOURCE,
        # the paper's order: the actor ascends the critic that was just updated
        fields={"steps": steps, "lagged_critic": False},
    )


FIXAR = (
    _PENDULUM,
    _task("HalfCheetah-v5", 100_000, 500.0, seeds=3, beside=_16_BITS),
    _task("Hopper-v5", 100_000, 300.0),
    _task("Swimmer-v5", 100_000, 20.0),
    _task("HalfCheetah-v5", 250_000, 1000.0, seeds=5, name="fixar-HalfCheetah-v5-250K"),
    _task("HalfCheetah-v5", 1_000_000, 2000.0, name="fixar-HalfCheetah-v5-1M"),
)
