"""Lists of tasks for tests of ``a3c``: a second implementation of the rules, and random lists that
keep the rules or just break them."""

import random

import numpy as np

from hw.fa3c.config import Fa3cConfig
from hw.fa3c.records import TASK, Error, Task
from hw.fa3c.rows import ROW_BYTES

__all__ = ["Lists", "Reference", "blank_task", "small_config", "task_bits"]

INFER, TRAIN, SYNC = (kind.value for kind in Task)
#: Of a TRAIN: the least and the largest of their bits.
_CONSTANTS = {
    "rate": (0, 0x7F7F_FFFF),
    "decay": (0, 0x3F80_0000),
    "gain": (0, 0x3F80_0000),
    "epsilon": (0x0080_0000, 0x7F7F_FFFF),
}


def small_config(**changes):
    """A network of a few rows, units of all roles."""
    small = dict(
        height=8,
        width=8,
        channels=4,
        convolutions=((16, 4, 2),),
        hidden=(16,),
        outputs=17,
        units=("infer", "train", "any"),
        batch=3,
        steps=3,
        agents=7,
        snapshots=3,
        tasks=12,
        parameter_rows=256,
    )
    return Fa3cConfig(**{**small, **changes})


def task_bits(task):
    """A task, a dict with ``agents`` as 8 bytes and ``padding`` as a number, as memory has it."""
    record = np.zeros((), TASK.dtype)
    for name, value in task.items():
        if name == "agents":
            record[name] = np.frombuffer(bytes(value), "<u4")
        elif name in _CONSTANTS:
            record[name] = np.array(value, "<u4").view("<f4")
        elif name != "padding":
            record[name] = value
    return int.from_bytes(record.tobytes(), "little") | task.get("padding", 0) << (8 * TASK.used)


def blank_task(kind, **fields):
    """A task whose fields have the least allowed values, except ``fields``."""
    names = ("unit", "snapshot", "step", "count", "operands", "results", *_CONSTANTS)
    task = {"kind": kind, **dict.fromkeys(names, 0), "agents": [0] * 8}
    if kind == TRAIN:
        task |= {name: low for name, (low, _) in _CONSTANTS.items()}
    return task | fields


class Reference:
    """The state of rollouts and snapshots in a kernel, and the error that it reports for a list."""

    def __init__(self, config):
        self.config = config
        self.load()

    def load(self):
        """A LOAD of theta: all rollouts are empty, and no snapshot is made."""
        self.lengths, self.synced = [0] * self.config.agents, set()

    def check(self, tasks, operands_bytes, results_bytes, bad_rows=()):
        """Error and detail; ``bad_rows``: offsets in operands of rows that are not finite."""
        made, used, taken = set(), set(), set()
        for position, task in enumerate(tasks):
            for error in self._broken(task, made, used, taken, operands_bytes, results_bytes):
                return error, position
            (made if task["kind"] == SYNC else used).add(task["snapshot"])
            taken |= set(self.agents(task))
        for position, task in enumerate(tasks):
            if task["kind"] == TRAIN:
                end = task["operands"] + task["count"] * self.config.output_bytes
                if set(range(task["operands"], end, ROW_BYTES)) & set(bad_rows):
                    return Error.NUMBER, position
        return Error.NONE, 0

    @staticmethod
    def agents(task):
        count = {INFER: task["count"], TRAIN: 1, SYNC: 0}[task["kind"]]
        return list(task["agents"][:count])

    def _broken(self, task, made, used, taken, operands_bytes, results_bytes):
        """Errors of a task, the first first."""
        config, kind, count = self.config, task["kind"], task["count"]
        if kind > 2 or task.get("padding"):
            yield Error.TASK
            return
        named = {INFER: count, TRAIN: 1, SYNC: 0}[kind]
        zeros = {
            INFER: tuple(_CONSTANTS),
            TRAIN: ("step", "results"),
            SYNC: ("unit", "step", "count", "operands", "results", *_CONSTANTS),
        }[kind]
        low, high = {INFER: (1, config.batch), TRAIN: (1, config.steps), SYNC: (0, 0)}[kind]
        if (
            any(task[name] for name in zeros)
            or not low <= count <= high
            or task["step"] > config.steps
            or any(task["agents"][named:])
            or (
                kind == TRAIN
                and any(not low <= task[name] <= high for name, (low, high) in _CONSTANTS.items())
            )
        ):
            yield Error.TASK
            return
        if kind != SYNC:
            roles = {INFER: ("infer", "any"), TRAIN: ("train", "any")}[kind]
            unit = task["unit"]
            if unit >= len(config.units) or config.units[unit] not in roles:
                yield Error.UNIT
        snapshot = task["snapshot"]
        usable = {
            INFER: snapshot in self.synced | made,
            TRAIN: snapshot in self.synced - made,
            SYNC: snapshot not in made | used,
        }[kind]
        if snapshot >= config.snapshots or not usable:
            yield Error.SNAPSHOT
        agents = self.agents(task)
        if any(a >= config.agents or a in taken for a in agents) or len(set(agents)) < len(agents):
            yield Error.AGENT
            return
        for agent in agents:
            length, step = self.lengths[agent], task["step"]
            if (kind == TRAIN and count > length) or (
                kind == INFER and step not in (config.steps, length)
            ):
                yield Error.STEP
        sizes = {
            INFER: (config.screen_bytes * count, config.output_bytes * count),
            TRAIN: (config.output_bytes * count, 0),
            SYNC: (0, 0),
        }[kind]
        limits = (operands_bytes, results_bytes)
        for name, size, limit in zip(("operands", "results"), sizes, limits, strict=True):
            if task[name] % 64 or task[name] + size > limit:
                yield Error[name.upper()]

    def execute(self, tasks, failed=False):
        """Note what a list that keeps the rules has done."""
        for task in tasks:
            if task["kind"] == SYNC:
                (self.synced.discard if failed else self.synced.add)(task["snapshot"])
            for agent in self.agents(task):
                if failed or task["kind"] == TRAIN:
                    self.lengths[agent] = 0
                elif task["step"] < self.config.steps:
                    self.lengths[agent] = task["step"] + 1

    def units(self, tasks):
        """For each unit its tasks, in order: ``(position, position of the SYNC that it waits for)``
        or None for that."""
        queues, syncs = [[] for _ in self.config.units], {}
        for position, task in enumerate(tasks):
            if task["kind"] == SYNC:
                syncs[task["snapshot"]] = position
            else:
                wanted = syncs.get(task["snapshot"]) if task["kind"] == INFER else None
                queues[task["unit"]].append((position, wanted))
        return queues

    def updates(self, tasks):
        """``(position, layer)``, of a SYNC ``(position, None)``, in the order of RMSProp."""
        order, wave = [], []

        def flush():
            for layer in reversed(range(len(self.config.layers))):
                order.extend((position, layer) for position in wave)
            wave.clear()

        for position, task in enumerate(tasks):
            if task["kind"] == SYNC:
                flush()
                order.append((position, None))
            elif task["kind"] == TRAIN:
                if task["unit"] in [tasks[p]["unit"] for p in wave]:
                    flush()
                wave.append(position)
        flush()
        return order


class Lists:
    """Random lists for a ``Reference``: ``good()`` keeps the rules, ``spoilt(tasks)`` probably
    breaks one."""

    def __init__(self, reference, seed, operands_bytes, results_bytes):
        self.reference, self.config = reference, reference.config
        self.rng = random.Random(seed)
        self.sizes = operands_bytes, results_bytes

    def good(self, most=None):
        """1 task or more: as many as the state allows."""
        config, rng, tasks = self.config, self.rng, []
        for _ in range(rng.randint(1, most or config.tasks)):
            for _ in range(20):
                task = rng.choice([self._infer, self._infer, self._train, self._sync])()
                if self.reference.check([*tasks, task], *self.sizes) == (Error.NONE, 0):
                    tasks.append(task)
                    break
        return tasks or [self._sync()]

    def _place(self, size, limit):
        return 64 * self.rng.choice([0, (limit - size) // 64, self.rng.randint(0, limit // 64)])

    def task(self, kind, **fields):
        """One whose other fields are 0, of any snapshot."""
        snapshot = self.rng.randrange(self.config.snapshots)
        return blank_task(kind, **{"snapshot": snapshot, **fields})

    def _infer(self):
        config, rng, lengths = self.config, self.rng, self.reference.lengths
        step = rng.choice([*lengths, *lengths, config.steps])
        like = [a for a in range(config.agents) if step in (lengths[a], config.steps)]
        count = rng.randint(1, min(len(like), config.batch)) if like else 1
        agents = rng.sample(like or [0], count)
        return self.task(
            INFER,
            unit=rng.randrange(len(config.units)),
            step=step,
            count=count,
            agents=agents + [0] * (8 - count),
            operands=self._place(count * config.screen_bytes, self.sizes[0]),
            results=self._place(count * config.output_bytes, self.sizes[1]),
        )

    def _train(self):
        config, rng = self.config, self.rng
        agent = rng.randrange(config.agents)
        count = rng.randint(1, max(1, self.reference.lengths[agent]))
        return self.task(
            TRAIN,
            unit=rng.randrange(len(config.units)),
            count=count,
            agents=[agent] + [0] * 7,
            operands=self._place(count * config.output_bytes, self.sizes[0]),
            **{
                name: max(low, min(rng.getrandbits(30), high))
                for name, (low, high) in _CONSTANTS.items()
            },
        )

    def _sync(self):
        return self.task(SYNC)

    def spoilt(self, tasks):
        """With one field of one task changed, mostly to what is near a limit, or in other order."""
        config, rng = self.config, self.rng
        tasks = [{**task, "agents": list(task["agents"])} for task in tasks]
        task, high = rng.choice(tasks), 1 << rng.choice([6, 8, 31])
        name = rng.choice(["order", "padding", "agents", "zero", *task])
        if name == "order":
            rng.shuffle(tasks)
        elif name == "agents":
            task[name][rng.randrange(8)] = rng.choice([1, config.agents - 1, config.agents % 256])
        elif name == "zero":
            task["agents"] = [0] * 8
        elif name == "padding":
            task[name] = 1 << rng.randrange(96)
        elif name in ("operands", "results"):
            task[name] += rng.choice([1, 32, 64, 128, 1 << 13, 1 << 31])
            task[name] %= 1 << 32
        elif name in _CONSTANTS:
            task[name] = 1 << rng.randrange(31)
        elif name in ("step", "snapshot"):
            task[name] = rng.choice([rng.randint(0, getattr(config, f"{name}s") + 1), high])
        else:
            task[name] = rng.choice([0, 1, 2, 3, task[name] + 1, config.steps + 1, high])
        return tasks
