"""Kernel ``a3c`` on card ``model``: rounds against the literal execution of their tasks, every
byte; and which lists are refused, against the rules in ``fa3c.tasks``."""

import random
from dataclasses import replace

import numpy as np
import pytest
from fa3c.literal import Literal
from fa3c.modelled import Card, opened
from fa3c.networks import NETWORKS, observations, theta
from fa3c.tasks import Lists, Reference, small_config, task_bits
from programs import BLANK, Builder

from hw.fa3c.commands import COMMANDS, Opcode
from hw.fa3c.records import TASK, Error, Task
from hw.fa3c.rows import ROW

INFER, TRAIN, SYNC = (kind.value for kind in Task)
CONSTANTS = dict(rate=0.01, decay=0.9, gain=0.1, epsilon=0.05)


def records_of(tasks):
    """TASK records; ``agents`` are numbers."""
    records = np.zeros(len(tasks), TASK.dtype)
    for record, task in zip(records, tasks, strict=True):
        for name, value in task.items():
            if name == "agents":
                value = np.frombuffer(bytes([*value, *[0] * (8 - len(value))]), "<u4")
            record[name] = value
    return records


class Both:
    """A card and a ``Literal``, on which every test does the same."""

    def __init__(self, kernel, config, seed=0):
        self.config, self.rng = config, np.random.default_rng(seed)
        numbers = theta(config, self.rng), np.abs(theta(config, self.rng))
        self.card, self.literal = Card(kernel, config), Literal(config, *numbers)
        self.card.load(*numbers)
        #: Nothing was written there yet: what it holds, it keeps until then.
        self.before = {row: self.card.local(row).copy() for row in range(config.local_rows)}
        self._begin()

    def _begin(self):
        self.tasks, self.operands, self.outputs, self.results = [], [], [], 0

    def _operand(self, array):
        offset = sum(part.nbytes for part in self.operands)
        self.operands.append(array.reshape(-1).view(np.uint8))
        return offset

    def sync(self, snapshot):
        self.tasks.append(dict(kind=SYNC, snapshot=snapshot))
        self.literal.sync(snapshot)

    def infer(self, snapshot, agents, step):
        screens = observations(self.config, self.rng, len(agents))
        self.tasks.append(
            dict(
                kind=INFER,
                unit=0,
                snapshot=snapshot,
                agents=agents,
                count=len(agents),
                step=step,
                operands=self._operand(screens),
                results=self.results,
            )
        )
        out = self.literal.infer(snapshot, agents, step, screens)
        self.outputs.append(out)
        self.results += out.nbytes

    def train(self, snapshot, agent, count):
        errors = self.rng.standard_normal((count, self.config.map_rows[-1] * ROW))
        errors = errors.astype(np.float32)
        constants = {name: np.float32(value) for name, value in CONSTANTS.items()}
        self.tasks.append(
            dict(
                kind=TRAIN,
                unit=1,
                snapshot=snapshot,
                agents=[agent],
                count=count,
                operands=self._operand(errors),
                **constants,
            )
        )
        self.literal.train(snapshot, agent, errors, *constants.values())

    def round(self):
        """Run what was asked for, and compare all there is."""
        operands = np.concatenate(self.operands)
        shell, status = self.card.round(records_of(self.tasks), operands, self.results)
        assert shell["error"] == 0 and not status["round_cycles"]
        left, literal = self.card, self.literal
        for name, wanted in (("theta", literal.theta), ("squares", literal.squares)):
            np.testing.assert_array_equal(left.words(name, np.uint32), wanted.view(np.uint32))
        for row, before in self.before.items():
            wanted = literal.local.get(row, before)
            np.testing.assert_array_equal(left.local(row), wanted, f"row {row}")
        outputs = left.left["results"][: self.results].view(np.uint32)
        if self.outputs:
            np.testing.assert_array_equal(outputs, np.concatenate(self.outputs, axis=None))
        assert (left.left["results"][self.results :] == BLANK).all()
        self._begin()
        return status


@pytest.mark.parametrize("name, snapshots", [("usual", 2), ("one lane", 2), ("vectors", 64)])
def test_rounds_literally(name, snapshots):
    """Three steps of three agents, a bootstrap, training while another agent goes on, and again."""
    config, last = replace(NETWORKS[name], snapshots=snapshots), snapshots - 1
    with opened(config) as kernel:
        both = Both(kernel, config)
        both.sync(last)
        both.infer(last, [2, 0], 0)  # of the snapshot just made
        both.infer(last, [1], 0)
        both.round()
        both.infer(last, [0], 1)
        both.infer(last, [2], 1)
        both.round()
        both.infer(last, [0], 2)
        both.infer(last, [2, 1], config.steps)  # bootstraps keep nothing, and may come at any time
        both.round()
        both.train(last, 2, 1)  # fewer than the rollout has
        both.infer(last, [1], 1)
        both.train(last, 0, 3)
        both.sync(0)
        status = both.round()
        assert status["synced"] == 1 | 1 << last and status["rounds"] == 4 and status["tasks"] == 11
        both.infer(0, [0, 2], 0)  # emptied by their training
        both.infer(last, [1], 2)
        both.round()


def test_images_and_what_is_missing():
    config = NETWORKS["usual"]
    rng = np.random.default_rng(2)
    images = [rng.integers(0, 1 << 32, (config.theta_rows, ROW), np.uint32) for _ in range(2)]
    with opened(config) as kernel:
        card = Card(kernel, config)

        def run(opcode, image):
            builder = Builder(COMMANDS)
            fields = {Opcode.LOAD: "source", Opcode.STORE: "destination"}
            size = images[image].nbytes
            place = (
                builder.operand(images[image]) if opcode is Opcode.LOAD else builder.result(size)
            )
            builder.raw(opcode, image=image, **{fields[opcode]: place})
            return card.run(builder)

        for image in (0, 1):
            assert run(Opcode.STORE, image)[0]["error"] == Error.MISSING
            assert card.round(records_of([dict(kind=SYNC)]))[0]["error"] == Error.MISSING
            shell, status = run(Opcode.LOAD, image)
            assert shell["error"] == 0 and status["loaded"] == (1, 3)[image]
        for image, name in enumerate(("theta", "squares")):
            np.testing.assert_array_equal(card.words(name, np.uint32), images[image])
            assert run(Opcode.STORE, image)[0]["error"] == 0
            found = card.left["results"][: images[image].nbytes].view(np.uint32)
            np.testing.assert_array_equal(found.reshape(-1, ROW), images[image])


@pytest.mark.parametrize("changes, count", [(dict(), 200), (dict(units=("any",), steps=1), 100)])
def test_which_lists_are_refused(changes, count):
    """By the first rule that the first bad task breaks; nothing has happened then."""
    config, rng, seen = small_config(**changes), random.Random(3), set()
    numbers = np.random.default_rng(3)
    sizes = 1 << 14, 1 << 12
    with opened(config) as kernel:
        card, reference = Card(kernel, config), Reference(config)
        card.load(theta(config, numbers), theta(config, numbers) ** 2)
        before = card.left
        lists = Lists(reference, 3, *sizes)
        for number in range(count):
            tasks, bad_rows = lists.good(), []
            if number % 2:
                tasks = lists.spoilt(tasks)
            records = np.frombuffer(
                b"".join(task_bits(task).to_bytes(TASK.size, "little") for task in tasks),
                TASK.dtype,
            )
            operands = numbers.standard_normal(sizes[0] // 4).astype(np.float32)
            trains = [task["operands"] for task in tasks if task["kind"] == TRAIN]
            if trains and number % 4 == 2:
                bad_rows = [rng.choice(trains)]
                bad = rng.choice([np.nan, np.inf, -np.inf])
                operands[bad_rows[0] // 4 + rng.randrange(ROW)] = bad
            total = sizes[0] + records.nbytes
            wanted = reference.check(tasks, total, sizes[1], bad_rows)
            shell, status = card.round(records, operands.view(np.uint8), sizes[1])
            assert (shell["error"], shell["error_detail"]) == wanted, tasks
            if wanted[0]:
                for name in ("theta", "squares", "local0", "local1"):
                    np.testing.assert_array_equal(card.left[name], before[name])
                assert (card.left["results"] == BLANK).all()
            else:
                reference.execute(tasks)
            assert status["synced"] == sum(1 << snapshot for snapshot in reference.synced)
            before = card.left
            seen.add(wanted[0])
    if not changes:
        assert seen == {Error.NONE, *range(Error.TASK, Error.NUMBER + 1), 2, 3}


def _infer(snapshot, agents, step, **fields):
    return dict(kind=INFER, snapshot=snapshot, agents=agents, count=len(agents), step=step) | fields


_TRAIN, _SYNC = dict(kind=TRAIN, unit=1, agents=[0], count=1, epsilon=1), dict(kind=SYNC)

#: After a SYNC of snapshot 0 and step 0 of agent 0: lists, and what they come to.
BY_HAND = [
    ([_SYNC, _TRAIN], Error.SNAPSHOT, 1),
    ([_TRAIN, _SYNC], Error.SNAPSHOT, 1),
    ([_infer(0, [0], 1), _SYNC], Error.SNAPSHOT, 1),
    ([_infer(1, [0], 1), dict(_SYNC, snapshot=1)], Error.SNAPSHOT, 0),
    ([dict(_SYNC, snapshot=1), dict(_SYNC, snapshot=1)], Error.SNAPSHOT, 1),
    ([dict(_SYNC, snapshot=1), dict(_TRAIN, snapshot=1)], Error.SNAPSHOT, 1),
    ([dict(_SYNC, snapshot=2)], Error.SNAPSHOT, 0),
    ([_infer(0, [1], 0), _infer(0, [0, 1], 3)], Error.AGENT, 1),
    ([_infer(0, [2, 2], 0)], Error.AGENT, 0),
    ([_infer(0, [3], 0)], Error.AGENT, 0),
    ([_infer(0, [0], 0)], Error.STEP, 0),
    ([_infer(0, [0], 2)], Error.STEP, 0),
    ([_infer(0, [1], 0), dict(_TRAIN, count=2)], Error.STEP, 1),
    ([_infer(0, [1], 0), dict(_TRAIN, unit=0)], Error.UNIT, 1),
    ([_infer(0, [1], 0, unit=1)], Error.UNIT, 0),
    ([_infer(0, [1], 0, rate=-0.0)], Error.TASK, 0),
    ([_infer(0, [1], 0, count=2)], Error.STEP, 0),  # agents 1 and 0
    ([_infer(0, [2, 1], 0, count=1)], Error.TASK, 0),
    ([_infer(0, [1], 4)], Error.TASK, 0),
    ([dict(_TRAIN, step=1)], Error.TASK, 0),
    ([dict(_TRAIN, agents=[0, 1])], Error.TASK, 0),
    ([dict(_SYNC, agents=[1])], Error.TASK, 0),
    ([dict(_SYNC, kind=3)], Error.TASK, 0),
]


def test_lists_by_hand():
    config = NETWORKS["usual"]
    with opened(config) as kernel:
        both = Both(kernel, config)
        both.sync(0)
        both.infer(0, [0], 0)
        both.round()
        operands = np.zeros(3 * config.screen_bytes, np.uint8)
        for tasks, *wanted in BY_HAND:
            shell, _ = both.card.round(records_of(tasks), operands, 3 * config.output_bytes)
            assert [shell["error"], shell["error_detail"]] == wanted, tasks
