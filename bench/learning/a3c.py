"""A3C's claims of training: FA3C's games, and smaller ones, from pixels."""

from dataclasses import replace

from bench.learning.claim import AS_GOOD, Claim, Kind

__all__ = ["A3C"]

_IN_ROUNDS = Kind(
    name="card", title="card", what="rounds of inferences and trainings on the card", learner="card"
)


def _t_max(steps):
    return replace(
        _IN_ROUNDS,
        name=f"t_max{steps}",
        title=f"t_max {steps}",
        what=f"gradients of rollouts of {steps} steps",
        fields={"batch_size": steps},
    )


_SAME_ROUNDS = Kind(
    name="torch",
    title="torch",
    what="the same rounds, by the same schedule, by torch's autodiff",
    learner="cpu",
    counts=False,
)


_AS_TORCH = dict(kinds=(replace(_IN_ROUNDS, at_least=AS_GOOD), _SAME_ROUNDS), reference="torch")


def _from_pixels(
    env, threshold, source, *, name=None, kinds=(_IN_ROUNDS, _SAME_ROUNDS), seeds=5, **options
):
    return Claim(
        name=f"a3c-{name or env.replace('/', '-')}",
        algo="a3c",
        env=env,
        kinds=kinds,
        seeds=seeds,
        needed=seeds,
        threshold=threshold,
        training=True,
        source=source,
        **options,
    )


#: 300 000 steps: six runs within an hour of one core
_OWN_THETA = dict(
    fields={"steps": 300_000},
    kinds=(
        replace(
            _IN_ROUNDS,
            name="own",
            title="own theta",
            what="groups of one agent: each has a snapshot of theta of its own, as in FA3C",
            fields={"group": 1},
        ),
        replace(
            _IN_ROUNDS,
            name="shared",
            title="four share",
            what="groups of four agents, the default: they share a snapshot of theta",
            fields={"group": 4},
            counts=False,
        ),
    ),
)

#: for the first of FA3C's 100 million steps: the step size falls as over all of them
_PAPERS_RATE = {"learning_rate_steps": 100_000_000}

#: FA3C's games, 5.6, for so few steps that they only check the computation
_GAMES = tuple(
    _from_pixels(
        f"{game}NoFrameskip-v4",
        None,
        "FA3C's six games (5.6), each for 50 000 steps: every number of the run is finite, and on "
        "the same experiences the critic's loss is smaller after the run than before it",
        name=f"short-{game}",
        kinds=(_IN_ROUNDS,),
        seeds=1,
        falls="critic's loss",
        fields={
            "steps": 50_000,
            "evaluation_episodes": 2,
            "evaluation_steps": 3000,
            **_PAPERS_RATE,
        },
    )
    for game in ("BeamRider", "Breakout", "Pong", "Qbert", "Seaquest", "SpaceInvaders")
)

A3C = (
    _from_pixels(
        "MinAtar/Breakout-v1",
        4.6,
        "more than ten times what random actions return, and as good as torch",
        **_AS_TORCH,
    ),
    _from_pixels(
        "MinAtar/Breakout-v1",
        2.1,
        "more than five times what random actions return, where each agent has a theta of its own",
        name="own-theta-MinAtar-Breakout-v1",
        seeds=3,
        **_OWN_THETA,
    ),
    _from_pixels(
        "MinAtar/Breakout-v1",
        2.1,
        "FA3C's t_max is 5; the kernel has up to 32, with fewer gradient steps",
        name="t_max-MinAtar-Breakout-v1",
        seeds=3,
        kinds=(_t_max(5), _t_max(32)),
        fields={"steps": 300_000},
    ),
    _from_pixels(
        "MinAtar/Asterix-v1",
        1.7,
        "more than three times what random actions return, and as good as torch",
        **_AS_TORCH,
    ),
    _from_pixels(
        "PongNoFrameskip-v4",
        -18.0,
        "FA3C's Pong (5.6), the first 3 million of its 100 million steps; random actions return "
        "less than -20",
        seeds=1,
        fields={"steps": 3_000_000, **_PAPERS_RATE},
    ),
    *_GAMES,
)
