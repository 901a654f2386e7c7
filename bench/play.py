"""Clocks and seconds until CartPole is solved by a kernel that plays, and by stable-baselines3.

The kernel is the ULX3S's, with 8 environments. Its twin takes the same vector steps and iterations
as the kernel, whose clocks are these times the formulas of ``hw.learner.play.play_clocks``.
"""

from math import inf
from statistics import median

from bench import row
from bench.bitstreams import KERNELS
from bench.solve.seed_records import perform
from bench.solve.sides import Task, config_of, request
from boards.memory import configured
from host.environments.task_ids import program_of
from host.play.play_settings import task_of
from host.runs.start_run import on_card
from hw.environment.machine_image import image_of
from hw.errors import Failure
from hw.learner.play.play_clocks import lesson_clocks, vector_step_clocks

__all__ = ["TASK", "kernel_and_image", "played_clocks", "rows"]

SEEDS, LIMIT_S = 5, 600.0
_BOARD = "ulx3s"
TASK = Task(
    algo="dqn",
    env="CartPole-v1",
    threshold=475.0,
    interval=800,
    fields=dict(
        learner="card", collect="card", capacity=2048, hidden=(32, 32), activation="tanh",
        optimizer="rmsprop", double=False, steps=30_000,
    ),
)  # fmt: skip
_CASE = "CartPole-v1, 8 environments, 4-32-32-2 on a ULX3S"


def rows(area=False):
    """The list of rows of ``SEEDS`` seeds: ``clocks`` until the task is solved, ``seconds``, the
    same at the clock of the bitstream, and ``model_seconds`` of the twin, with seconds of
    stable-baselines3 as the reference; ``steps``, ``updates`` and ``seeds_solved``. A number is the
    median of all seeds, None if most are not solved. ``area`` adds nothing."""
    asked = request(TASK, "own") | {"board": _BOARD}
    kernel, image = kernel_and_image(asked)
    own, peer = _seeds(asked), _seeds(request(TASK, "sb3-zoo"))
    agent = config_of(asked["config"]).agent
    for seed in own:
        seed["clocks"] = played_clocks(kernel, image, agent, seed["steps"], seed["updates"])
    mhz = KERNELS["dqn that plays"].mhz
    theirs = _median(peer, "seconds")
    beside = dict(reference="stable-baselines3's DQN, rl-zoo's numbers", reference_value=theirs)
    source = f"median of {SEEDS} seeds"
    counted = f"{source}: counted vector steps and iterations, by formula"
    processor = f"{source}: processor seconds of one core, without start and evaluations"
    clocks = _median(own, "clocks")

    def of(metric, value, unit, source, **reference):
        return row("play", _CASE, metric, value, unit, source=source, **reference)

    solved = [sum(seed["solved"] for seed in seeds) for seeds in (own, peer)]
    return [
        of("seeds_solved", solved[0], "seeds", f"of {SEEDS} seeds",
           reference=beside["reference"], reference_value=solved[1]),
        of("steps", _median(own, "steps"), "environment steps", source,
           reference=beside["reference"], reference_value=_median(peer, "steps")),
        of("updates", _median(own, "updates"), "gradient steps", source,
           reference=beside["reference"], reference_value=_median(peer, "updates")),
        of("clocks", clocks, "cycles", counted),
        of("seconds", clocks and round(clocks / mhz / 1e6, 3), "s",
           f"{counted}, at the {mhz} MHz of the bitstream", **beside),
        of("model_seconds", _median(own, "seconds"), "s", processor, **beside),
    ]  # fmt: skip


def kernel_and_image(asked):
    """``(kernel's config, image of the task)`` of the request ``asked`` with a ``board``."""
    config = config_of(asked["config"])
    with on_card(config, "model", board=asked["board"]) as (_, _, description):
        _, kernel = configured(description)
    task, limit = task_of(config.env)
    return kernel, image_of(program_of(task)[1], limit)


def played_clocks(kernel, image, agent, steps, updates):
    """Clocks of ``steps`` environment steps and ``updates`` iterations of PLAY, whole.

    Vector steps where all environments explore are counted by their probability. An episode's
    end, which takes less than a hundredth of a vector step more, and launches are not counted.
    """
    count = kernel.play.environments
    vector_steps = steps // count
    idle = sum(agent.epsilon_at(step * count) ** count for step in range(vector_steps))
    acting, exploring = (
        vector_step_clocks(kernel, image, agent.n_step, acts=acts) for acts in (True, False)
    )
    lessons = updates * lesson_clocks(kernel, agent.batch_size, 1)
    return round((vector_steps - idle) * acting + idle * exploring + lessons)


def _seeds(asked):
    found = []
    for seed in range(SEEDS):
        code, result = perform(asked | {"algo": TASK.algo}, seed, LIMIT_S)
        if code:
            raise Failure(f"seed {seed} of {asked['program']} gave no result ({code})")
        found.append(result)
    return found


def _median(seeds, name):
    """The median of all seeds; None if it is infinite."""
    found = median(seed[name] if seed["solved"] else inf for seed in seeds)
    return round(found, 2) if found < inf else None
