"""What ``rlfabric compose`` does without times: a task from options, its profile, and its plan."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from host.agents.registry import find_named
from host.algorithms.autodiff import check_device
from host.cards import is_simulated
from host.compose import actor_times, power, primitive_times, profile
from host.compose.assignment import METRICS, Sizes
from host.compose.card_clocks import TWIN_BOARD, own_settings
from host.compose.compose_view import drawn_plans, show_plans
from host.compose.plan_file import (
    PLAN,
    PROFILE,
    check_free,
    plan_document,
    proof_of,
    text_of,
    write,
)
from host.compose.plans import plan_of, plans_of
from host.compose.primitive_times import equation7
from host.compose.program import program_files, write_kernel
from host.compose.search import PlanCandidate, compose
from host.compose.task import Task, mapped, with_ratio
from host.rules import NOT_NEGATIVE, check_choice
from host.runs.request import request
from host.runs.run_folder import plain_name
from host.trainers.trainer import TrainerConfig
from hw.config import check_range
from hw.errors import MissingTool, UsageError
from system.cache import say
from system.disk import user_path

__all__ = ["Answer", "TaskOptions", "answer_of", "task_of"]

#: Fields of a run that a composition decides.
_DECIDED = ("learner", "memory", "design", "device")


@dataclass(frozen=True)
class TaskOptions:
    """What is to be composed.

    algo, env : an algorithm, and an environment or None, as for ``request``.
    ratio : environment steps for each gradient step; None: as the algorithm's defaults have it.
    uniform : as of Task.
    settings, file, imports : as for ``request``.
    actors : actors of the run, in processes of their own; None: as the settings have it, or none.
    """

    algo: str
    env: str | None = None
    ratio: int | None = None
    uniform: bool = False
    settings: dict = field(default_factory=dict)
    file: Path | None = None
    imports: tuple = ()
    actors: int | None = None


@dataclass(frozen=True, kw_only=True)
class Answer:
    """A composition.

    out : Path of its folder.
    document, text : the plan, as a dict and as the text of its file.
    choice : PlanCandidate
    kernel : fields of the kernel that is generated for the chosen run.
    board : that of the machine's card; for the twin, and without a card, u200.
    draw, show : functions without arguments that give its picture (bytes) and print it.
    """

    out: Path
    document: dict
    choice: PlanCandidate
    kernel: dict
    board: str
    draw: Callable
    show: Callable

    @property
    def text(self):
        return text_of(self.document)

    def write(self, *, program=False, overwrite=False, replaced=()):
        """Writes the plan and its picture to ``out``, and with ``program`` also the plan as a
        program, with its kernel.

        UsageError if another plan or another program is there, unless ``overwrite`` is True or its
        name is in ``replaced``; nothing is written then.
        """
        files = {PLAN: self.text.encode()}
        if program:
            files |= program_files(self.choice.plan, self.document, self.board, self.out)
        check_free(self.out, files, files if overwrite else replaced)
        if program:
            write_kernel(self.out, self.document, self.board, overwrite=overwrite)
        write(self.out, files, self.draw)

    def train(self, card):
        """Trains by the plan, as ``rlfabric train`` does; returns the exit code."""
        from host.runs.start_run import start

        if (proof := proof_of(self.document)) is not None:
            say(proof)
        config = self.choice.plan.config
        return start(config, card=card, board=self.board, kernel=self.kernel)


def answer_of(asked, machine, *, metric="throughput", card="model", out=None, measure=False,
             launches=profile.LAUNCHES, messages_us=None):  # fmt: skip
    """The Answer for TaskOptions on a Machine.

    Parameters
    ----------
    metric : as for ``plan_document``.
    card : str
        The card of the profile, as for ``open_card``.
    out : path, optional
        Folder of the profile; None: ``runs/compose-ALGO-ENV``.
    measure : bool
        Whether the profile is measured now, and written. If not, it is read.
    launches : int
        Launches of each plan that are measured, of each kind; at least one a round. Of an actor
        half as many messages are measured.
    messages_us : float, optional
        Microseconds of a message on its way, in place of those that were measured; with actors.

    UsageError for whatever is wrong.
    """
    check_range("launches", launches, profile.ROUNDS, 1 << 20)
    check_choice("metric", metric, METRICS)
    is_simulated(card)  # a name of no card
    if asked.actors is not None:
        check_range("actors", asked.actors, 1, 256)
    task, plans = task_of(asked)
    config = task.config
    if messages_us is not None:
        NOT_NEGATIVE.check("messages_us", messages_us)
        if not config.actors:
            raise UsageError(f"messages_us must be with actors, not without ({messages_us})")
    out = (
        Path("runs") / plain_name("compose", config.algo, config.env)
        if out is None
        else user_path(out)
    )
    board = (machine.card and machine.card.board) or TWIN_BOARD
    if measure:
        _measure(task, plans, out / PROFILE, card, board, launches)
    read = profile.load(out / PROFILE, _identity(task, card))
    machine = _powered(machine, read["watts"])
    updates = next(iter(read["plans"].values())).updates
    sizes = Sizes(batch=task.batch, inserts=task.steps_of_update(updates), words=task.words)
    acts = actor_times.ActorTimes(**read["actors"]) if config.actors else None
    if messages_us is not None:
        acts = acts.with_message_us(messages_us)
    found = compose(task, plans, machine, read["plans"], sizes, metric=metric, acting=acts)
    seven = {}
    if task.family == "replay":
        seven = equation7(task, plans, machine, read["primitives"], sizes)
    told = dict(metric=metric, equation7=seven, profile=read["machine"], acting=acts)
    document = plan_document(task, machine, found, sizes, **told)
    return Answer(
        out=out,
        document=document,
        choice=found.choice,
        kernel=own_settings(task, found.choice.plan),
        board=board,
        draw=lambda: drawn_plans(task, found),
        show=lambda: show_plans(task, found, document, seven),
    )


def task_of(asked):
    """``(task, plans)``: the Task of TaskOptions, and its plans, those that cannot run among them.
    An algorithm that several designs train has a plan for each of them. A user's trainer is read
    and proved for the plans whose learner is the card."""
    for name in _DECIDED:
        if name in asked.settings:
            raise UsageError(f"{name} must be left to compose, not be set")
    config, kernel = _requested(asked)
    if config.actor_td_errors:
        raise UsageError(
            "first_priority must be largest to be composed, not 'td_error': times and programs of "
            "plans have no TD errors of new experiences"
        )
    if getattr(config, "collect", "cpu") != "cpu":
        raise UsageError(
            "collect must be cpu to be composed, not 'card': plans place no environments"
        )
    if config.LEARNS_FROM != "replay":
        for name, given in (("ratio", asked.ratio is not None), ("uniform", asked.uniform)):
            if given:
                raise UsageError(f"{name} must be without {asked.algo}, which has no replay memory")
    algorithm, task = find_named(asked.algo), Task(config, asked.uniform, kernel)
    if issubclass(algorithm.config, TrainerConfig):
        trainer = mapped(config, task.spec)
        task = replace(task, trainer=trainer, kernel=trainer.kernel | kernel)
    plans = plans_of(task)
    for design in algorithm.designs:
        other, _ = _requested(asked, design=design)
        variant = replace(task, config=other)
        plans += [plan_of(variant, rm, "card") for rm in ("cpu", "card")]
    return task, plans


def _requested(asked, **options):
    config, kernel = request(
        asked.algo,
        options={"env": asked.env, "actors": asked.actors, **options},
        settings=asked.settings,
        file=asked.file,
        imports=asked.imports,
    )
    if asked.ratio is not None and config.LEARNS_FROM == "replay":
        config = with_ratio(config, asked.ratio)
    return config, kernel


def _identity(task, card):
    """What a profile is of, as JSON values."""
    config = json.loads(task.config.to_json())
    whose = {"config": config, "uniform": task.uniform, "kernel": task.kernel, "card": card}
    if task.trainer is not None:  # of another text of the class the times may be others
        file, _, _ = task.trainer.name.rpartition(":")
        whose["trainer"] = hashlib.sha256(Path(file).read_bytes()).hexdigest()[:12]
    return whose


def _measure(task, plans, path, card, board, launches):
    """Measures every plan that runs here, and writes the profile to ``path``."""
    acts, messages = None, max(profile.ROUNDS, launches // 2)
    if task.config.actors:  # first, since Ray may be absent
        say(f"profile: {messages} messages of an actor")
        acts = asdict(actor_times.measured(task.config, messages, profile.ROUNDS))
    tried, devices = {}, {"cpu"}
    for plan in plans:
        if plan.refused:
            continue
        try:
            if plan.learner != "card":
                check_device(plan.config.device)
        except (UsageError, MissingTool) as error:
            say(f"profile: not {plan.name}: {error}")
            continue
        tried[plan.name] = plan.config.without_actors(), own_settings(task, plan)
        devices |= {plan.config.device}
    with power.measured_watts(power.meters()) as watts:
        found = profile.measured(tried, launches=launches, card=card, board=board)
    if not found:
        raise UsageError("a profile must have a plan that runs here, not none")
    for name, each in found.items():
        if each.p90 > 2 * each.p50:
            say(
                f"profile: {name} varies: a tenth of its launches takes over {each.p90:.0f} us, "
                f"half of them at most {each.p50:.0f}"
            )
    alone = _primitives(task, devices) if task.family == "replay" else {}
    path.parent.mkdir(parents=True, exist_ok=True)
    profile.save(path, _identity(task, card), found, watts=watts, primitives=alone, actors=acts)


def _primitives(task, devices):
    """Times of PEARL's primitives alone: kind of device -> microseconds."""
    inserts = max(1, round(task.steps_of_update(task.config.updates_per_launch)))
    found = {"cpu": primitive_times.memory_us(task, inserts)}
    for device in sorted(devices):
        try:
            found.setdefault(device, {})["learn_us"] = primitive_times.learner_us(task, device)
        except MissingTool as error:
            say(f"profile: no gradient step on {device}: {error}")
    return found


def _powered(machine, watts):
    """The Machine with the profile's ``watts``, by kind of device, where its own are unknown."""
    devices = tuple(
        replace(each, watts=watts[each.kind], source=f"{each.source}; watts of the profile")
        if each.watts is None and watts.get(each.kind)
        else each
        for each in machine.devices
    )
    return replace(machine, devices=devices)
