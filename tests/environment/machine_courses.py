"""Courses for the barrel machine: commands with their words, and what the twin gives for them."""

import json

import numpy as np
from environment.task_cases import words_of

from hw.environment.machine import command_clocks
from hw.environment.machine_image import Image, Section
from hw.environment.machine_ports import ITEM, Command, MachineConfig
from hw.environment.task_program import Opcode, encode
from sim.model.environment.machine import Machine
from sim.model.environment.twin import seeded

__all__ = ["Course", "random_image", "run", "whole_image"]


class Course:
    """A course of commands for ``count`` environments, which the twin runs as it is written.

    Attributes
    ----------
    twin : Machine
    commands : list of (Command, Image)
        The image is the one that is loaded.
    """

    def __init__(self, count, seed=0):
        self.count, self.twin, self.image = count, Machine(count), None
        self.twin.generator[:] = seeded([seed])
        self._numbers, self._drawn = np.random.SFC64(seed), self.twin.generator[3, 0]
        self.commands, self.words = [], {"command": [], "i": [], "items": []}

    def _command(self, kind, mask=0):
        self.commands.append((kind, self.image))
        self.words["command"].append(int(kind) | mask << 3)

    def ignored(self, kind):
        """A command of a kind that does not exist; its clocks do not count."""
        self.words["command"].append(kind)

    def load(self, image):
        self.image = image
        self._command(Command.LOAD)
        self.words["i"] += image.words
        self.twin.load(image.words)

    def begin(self, mask=None):
        mask = np.ones(self.count, bool) if mask is None else np.asarray(mask)
        self._command(Command.BEGIN, sum(int(bit) << k for k, bit in enumerate(mask)))
        return self._items(self.twin.begin(mask))

    def step(self, actions):
        """``actions`` : words [count, actions]."""
        self._command(Command.STEP)
        self.words["i"] += [int(word) & 0xFFFFFFFF for word in np.ravel(actions)]
        return self._items(self.twin.step(actions))

    def save(self):
        self._command(Command.SAVE)
        state = self.twin.save()
        for row in state:
            self.words["items"] += [_item(word=w, last=k == len(row) - 1)
                                    for k, w in enumerate(row)]  # fmt: skip
        return state

    def restore(self, words):
        self._command(Command.RESTORE)
        self.words["i"] += [int(word) & 0xFFFFFFFF for word in np.ravel(words)]
        self.twin.restore(words)

    def go_on_from(self, generator):
        """Random words as of a machine with this state of ``twin.generator``; none was taken."""
        assert self.twin.generator[3, 0] == self._drawn
        self.twin.generator[:] = generator
        state = self._numbers.state
        state["state"]["state"] = generator[:, 0]
        self._numbers.state, self._drawn = state, generator[3, 0]

    def _items(self, items):
        for row, *flags in zip(items.word, items.terminated, items.truncated, items.clipped,
                               strict=True):  # fmt: skip
            for k, (word, fraction) in enumerate(zip(row, items.fraction, strict=True)):
                last = k == len(row) - 1
                names = ("terminated", "truncated", "clipped") if last else ()
                self.words["items"].append(
                    _item(word=word, fraction=fraction, last=last,
                          **dict(zip(names, flags, strict=False)))
                )  # fmt: skip
        return items

    @property
    def paces(self):
        """Clocks of each command but the last one."""
        config = MachineConfig(environments=self.count)
        return [command_clocks(config, image)[kind] for kind, image in self.commands[:-1]]

    def as_dict(self, cut=0):
        """The course for the bench. ``cut`` : clocks after which a reset ends it; 0 for none."""
        config = MachineConfig(environments=self.count)
        draws = int(self.twin.generator[3, 0] - self._drawn)
        kind, image = self.commands[-1]
        return {
            **self.words,
            "random": [int(n) & 0xFFFFFFFF for n in self._numbers.random_raw(draws)],
            "cut": cut,
            "clocks": sum(self.paces) + command_clocks(config, image)[kind],
            "rest": 200,
        }


def _item(**fields):
    mask = {name: (1 << field.width) - 1 for name, field in ITEM}
    return sum((int(n) & mask[name]) << ITEM[name].offset for name, n in fields.items())


def random_image(rng, step, reset, draws=True):
    """An Image of ``step`` and ``reset`` random instructions, with corners often among their
    constants; without ``draws`` none is RANDOM. All registers are its state, two are actions."""

    def instruction():
        opcode = rng.choice(len(Opcode), p=[0.3, 0.15, 0.15, 0.08, 0.08, 0.1, 0.1, 0.04])
        opcode = opcode if draws or opcode != Opcode.RANDOM else Opcode.ADD
        a, b = (int(rng.choice([rng.integers(32), 256 + rng.integers(256), 31, 511]))
                for _ in range(2))  # fmt: skip
        b = a if rng.random() < 0.1 else b
        to = None if rng.random() < 0.05 else int(rng.choice([rng.integers(32), 31]))
        return encode(opcode, to, a, b, int(rng.integers(24, 32)))

    def send(count):
        rows = rng.integers(32, size=(count, 2)).tolist()
        return [encode(Opcode.MUL, None, a, b, fraction=int(rng.integers(64))) for a, b in rows]

    return whole_image(
        *([instruction() for _ in range(count)] for count in (step, reset)),
        send(3), send(6), range(32), words_of(rng, 1, 256)[0].tolist(),
    )  # fmt: skip


def whole_image(step, reset, begun, stepped, state, constants):
    """An Image of these words, whose actions are registers 31 and 5; ``state`` lists registers."""

    def moved(places):
        return [encode(Opcode.ADD, place, place, place) for place in places]

    sections = {
        Section.STEP: (0, step),
        Section.RESET: (len(step), reset),
        Section.BEGUN: (100, begun),
        Section.STEPPED: (0, stepped),
        Section.ACTIONS: (200, moved([31, 5])),
        Section.STATE: (224, moved(state)),
        Section.CONSTANTS: (0, constants),
    }
    return Image(sections={each: (at, tuple(words)) for each, (at, words) in sections.items()})


def run(simulate, dut, folder, courses, gaps=((0, 0), (0.5, 0), (0, 0.5), (0.3, 0.3)), **case):
    """Runs dicts of courses in one simulation for each of ``gaps``."""
    path = folder / "courses.json"
    path.write_text(json.dumps(courses))
    simulate(dut, "environment.machine_bench", courses=str(path), gaps=gaps, **case)
