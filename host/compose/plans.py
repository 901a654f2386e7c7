"""Plans: the runs of a task, one for each pair of devices on which its parts may be."""

from dataclasses import dataclass, replace

from host.compose.task import Task
from host.runs.run_config import RunConfig
from hw.errors import UsageError

__all__ = ["Plan", "plan_of", "plans_of"]


@dataclass(frozen=True)
class Plan:
    """A run of a task with its parts on kinds of devices: cpu, cuda or card.

    rm : str or None
        Where the replay memory is; None if the algorithm has none.
    learner : str
        Where the gradient steps are done.
    design : str
        Design of the kernel, "none" without a card.
    config : RunConfig or None
        The run; None if there is none.
    refused : str
        Why there is no run, as a sentence; empty if there is one.
    """

    rm: str | None
    learner: str
    design: str
    config: RunConfig | None = None
    refused: str = ""

    @property
    def name(self):
        """A name by which a profile knows the plan, for instance ``rm card, learner cpu``."""
        where = f"rm {self.rm}, " if self.rm else ""
        kernel = f", kernel {self.design}" if self.design != "none" else ""
        return f"{where}learner {self.learner}{kernel}"


def plans_of(task):
    """All plans of a Task, those that cannot run among them, in a fixed order."""
    rms = {"replay": ("cpu", "card", "cuda")}.get(task.family, (None,))
    return [plan_of(task, rm, learner) for rm in rms for learner in ("cpu", "card", "cuda")]


def plan_of(task: Task, rm, learner):
    """The Plan of a Task with the replay memory on a device of kind ``rm``, and the learner on one
    of kind ``learner``; it is ``refused`` if it cannot run."""
    try:
        config = _FAMILIES[task.family](task, rm, learner)
        design = config.kernel
        if design is not None:
            config.kernel_values(task.spec)  # not for every environment there are some
    except UsageError as error:
        return Plan(rm, learner, "none", refused=str(error))
    return Plan(rm, learner, design or "none", config)


def _replay(task, rm, learner):
    if rm == "cuda":
        raise UsageError("a replay memory must be on a cpu or a card, not cuda")
    config = task.config
    if learner == "card" and task.trainer is not None:
        config = task.trainer.card_config()
    off = "ring" if task.uniform else "tree"
    changes = {"memory": "card" if rm == "card" else off}
    if task.uniform:
        changes["alpha"] = 0.0
    if learner != "card":
        changes |= {"design": "own", "act": "cpu", "weights_interval": 1}
    return _placed(config, learner, **changes)


def _rounds(task, rm, learner):
    return _placed(task.config, learner)


def _rollouts(task, rm, learner):
    if learner == "card":
        raise UsageError(
            f"the gradient steps of {task.config.algo} must be on a cpu or cuda, not a card: its "
            "card estimates advantages"
        )
    return _placed(task.config, learner)


_FAMILIES = {"replay": _replay, "rounds": _rounds, "rollouts": _rollouts}


def _placed(config, learner, **changes):
    """``config`` with its gradient steps on a device of kind ``learner``."""
    device = "cuda" if learner == "cuda" else "cpu"
    where = "card" if learner == "card" else "cpu"
    return replace(config, learner=where, device=device, **changes)
