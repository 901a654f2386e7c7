"""Tasks of kernel ``a3c`` as objects, and a round of them as it lies in memory."""

import operator
from dataclasses import dataclass

import numpy as np

from host.a3c.parameter_image import observation_rows, observation_type, padded
from hw.errors import UsageError
from hw.fa3c.records import AGENTS, CONSTANTS, TASK, Task
from hw.fa3c.rows import ROW, ROW_BYTES

__all__ = ["Infer", "RoundLaunch", "Sync", "Train"]

#: Numbers of a TRAIN: name -> what its word is within ``CONSTANTS``.
_RULES = {
    "rate": "finite and at least 0",
    "decay": "in 0..1",
    "gain": "in 0..1",
    # What is below counts as 0 on the card.
    "epsilon": f"finite and at least {np.finfo(np.float32).tiny:.4g}",
}


@dataclass(frozen=True, kw_only=True)
class Infer:
    """A task: the network's outputs, [agents, outputs], for an observation of each agent.

    unit : number of a compute unit of role "infer" or "any"
    snapshot : number of the snapshot whose parameters are used
    agents : numbers of the agents, 1 to ``config.batch`` of them
    observations : [agents, height, width, channels], uint8, or float32 if ``config.binary32``
    step : step of the agents' rollouts, in 0..``config.steps - 1``, under which the inputs of all
        layers are kept for training; None: a bootstrap, which keeps nothing
    """

    unit: int
    snapshot: int
    agents: tuple
    observations: np.ndarray
    step: int | None


@dataclass(frozen=True, kw_only=True)
class Train:
    """A task: the gradient d of one agent's rollout, and the update of theta with it,
    ``g = decay * g + (1 - decay) * d**2``, ``theta -= rate * d / sqrt(g + epsilon)``.

    unit : number of a compute unit of role "train" or "any"
    snapshot : number of the snapshot with which the rollout's inferences were made
    agent : number of the agent
    errors : [steps, outputs], d(objective) / d(outputs) of the rollout's first steps, 1 to
        ``config.steps`` of them
    rate, decay, epsilon : numbers of the formulas; rate at least 0, decay in 0..1, epsilon above 0
    """

    unit: int
    snapshot: int
    agent: int
    errors: np.ndarray
    rate: float
    decay: float = 0.99
    epsilon: float = 0.1


@dataclass(frozen=True, kw_only=True)
class Sync:
    """theta, as it is after the tasks before, becomes a snapshot."""

    snapshot: int


class RoundLaunch:
    """Tasks that a kernel of ``config`` executes in one launch; at most ``config.tasks`` of them.

    Attributes
    ----------
    tasks : tuple of Infer, Train, Sync
        The tasks in order.
    operands : uint8 array
        What the card reads: a TASK record for each task, then the observations and errors.
    results_bytes : int
        Bytes of the outputs of all inferences.
    trains : bool
        Whether there is a Train.

    ValueError for a wrong field, and for tasks that contradict each other: an agent may be in one
    task alone, a snapshot may be made once, before its use, and a Train may not use a snapshot that
    this round makes. The message names the task by its position.
    """

    def __init__(self, config, tasks):
        self.config, self.tasks = config, tuple(tasks)
        if not 1 <= len(self.tasks) <= config.tasks:
            raise UsageError(f"tasks must be 1 to {config.tasks}, not {len(self.tasks)}")
        self.results_bytes, self.trains = 0, False
        self._agents, self._made, self._used, self._places = {}, {}, {}, []
        self._parts = [np.zeros(len(self.tasks), TASK.dtype)]
        self._size = self._parts[0].nbytes
        kinds = {Infer: self._infer, Train: self._train, Sync: self._sync}
        for position, task in enumerate(self.tasks):
            self._position, self._record = position, self._parts[0][position : position + 1]
            if type(task) not in kinds:
                raise UsageError(
                    f"task {position} must be an Infer, a Train or a Sync, not {task!r}"
                )
            kinds[type(task)](task)
        self.operands = np.concatenate([part.reshape(-1).view(np.uint8) for part in self._parts])

    def outputs(self, results):
        """For each task its outputs, float32 [agents, outputs], or None."""
        words = results.view(np.float32).reshape(-1, self.config.output_bytes // ROW_BYTES * ROW)
        return [
            place if place is None else words[place, : self.config.outputs].copy()
            for place in self._places
        ]

    def describe(self, position):
        """A task in an error's words."""
        names = [agent for agent, task in self._agents.items() if task == position]
        of = f" of agent{'s' * (len(names) > 1)} {', '.join(map(str, names))}" if names else ""
        return f"task {position}, {type(self.tasks[position]).__name__}{of},"

    # -- each kind

    def _infer(self, task):
        config = self.config
        agents = [self._integer("agents", agent, config.agents) for agent in task.agents]
        if not 1 <= len(agents) <= config.batch:
            self._wrong("agents", f"1 to {config.batch} numbers", len(agents))
        self._check_observations(task, len(agents))
        step = config.steps
        if task.step is not None:
            step = self._integer("step", task.step, config.steps)
        first = self.results_bytes // config.output_bytes
        self._places.append(slice(first, first + len(agents)))
        self._put(
            task,
            Task.INFER,
            agents,
            observation_rows(config, task.observations),
            step=step,
            count=len(agents),
            results=self.results_bytes,
        )
        self.results_bytes += len(agents) * config.output_bytes

    def _train(self, task):
        agent = self._integer("agent", task.agent, self.config.agents)
        errors = self._checked_errors(task)
        numbers = {}
        for name in ("rate", "decay", "gain", "epsilon"):
            numbers[name] = value = 1 - task.decay if name == "gain" else getattr(task, name)
            low, high = CONSTANTS[name]
            if not low <= self._word(name, value) <= high:
                self._wrong(name, _RULES[name], value)
        self._put(
            task,
            Task.TRAIN,
            [agent],
            padded(self.config, errors),
            count=len(errors),
            **numbers,
        )
        self._places.append(None)
        self.trains = True

    def _sync(self, task):
        snapshot = self._integer("snapshot", task.snapshot, self.config.snapshots)
        for rule, earlier in (("made once", self._made), ("made before its use", self._used)):
            if snapshot in earlier:
                self._wrong("snapshot", f"{rule} in a round", snapshot, earlier[snapshot])
        self._made[snapshot] = self._position
        self._record["kind"], self._record["snapshot"] = Task.SYNC.value, snapshot
        self._places.append(None)

    def _put(self, task, kind, agents, operands, **fields):
        """Writes the fields that INFER and TRAIN have in common."""
        work = kind.name.lower()
        units = list(self.config.units_for(work))
        if task.unit not in units:
            self._wrong("unit", f"of {units}, whose role is {work} or any", task.unit)
        snapshot = self._integer("snapshot", task.snapshot, self.config.snapshots)
        if kind is Task.TRAIN and snapshot in self._made:
            rule = "one that the round does not make anew"
            self._wrong("snapshot", rule, snapshot, self._made[snapshot])
        self._used.setdefault(snapshot, self._position)
        for agent in agents:
            if agent in self._agents:
                self._wrong("agent", "named once in a round", agent, self._agents[agent])
            self._agents[agent] = self._position
        raw = bytes(agents).ljust(AGENTS, b"\0")
        fields |= dict(kind=kind.value, unit=task.unit, snapshot=snapshot, operands=self._size)
        for name, value in fields.items():
            self._record[name] = value
        self._record["agents"] = np.frombuffer(raw, "<u4")
        self._parts.append(operands)
        self._size += operands.nbytes

    # -- what is refused

    def _wrong(self, name, rule, value, earlier=None):
        other = "" if earlier is None else f", as in task {earlier}"
        raise UsageError(f"task {self._position}: {name} must be {rule}, not {value!r}{other}")

    def _word(self, name, value):
        """The bits of ``value`` as binary32."""
        try:
            with np.errstate(over="ignore"):
                return np.float32(value).view(np.uint32)
        except (TypeError, ValueError):
            self._wrong(name, "a number", value)

    def _integer(self, name, value, count):
        """``value`` as an int below ``count``."""
        try:
            whole = operator.index(value)
        except TypeError:
            whole = -1
        if not 0 <= whole < count:
            self._wrong(name, f"an integer in 0..{count - 1}", value)
        return whole

    def _check_observations(self, task, count):
        config = self.config
        kind, shape = (
            observation_type(config), (count, config.height, config.width, config.channels)
        )  # fmt: skip
        found = getattr(task.observations, "dtype", None), np.shape(task.observations)
        if found != (kind, shape):
            raise UsageError(
                f"task {self._position}: observations must be {kind} of shape {list(shape)} "
                f"(agents, height, width, channels), not {found[0]} {list(found[1])}"
            )

    def _checked_errors(self, task):
        """float32 [steps, outputs]."""
        config = self.config
        with np.errstate(over="ignore"):
            errors = np.asarray(task.errors, np.float32)
        if errors.ndim != 2 or errors.shape[1] != config.outputs or not len(errors):
            self._wrong("errors", f"of shape [steps, {config.outputs}]", list(errors.shape))
        if len(errors) > config.steps:
            self._wrong("errors", f"of at most {config.steps} steps", len(errors))
        wrong = ~np.isfinite(errors)
        if wrong.any():
            step, output = (int(x) for x in np.argwhere(wrong)[0])
            raise UsageError(
                f"task {self._position}: errors of agent {task.agent} must be finite, not "
                f"{errors[step, output]} (step {step}, output {output})"
            )
        return errors
