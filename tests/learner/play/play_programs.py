"""Programs of kernels that play, for any card: what begins them, and random ones."""

import random
from dataclasses import replace

import numpy as np
from learner.core_programs import LearnProgram, TrainingPrograms
from learner.play.played import playing, segments_of

from host.environments.task_ids import program_of
from hw.arith.arithmetic import Arithmetic
from hw.environment.machine_image import HEADER, Section, image_of
from hw.environment.task_program import REGISTERS
from hw.environment.tasks.cartpole import CartPole
from hw.learner.play.commands import COMMANDS, PlayOpcode
from hw.learner.play.play_contract import PLAY_SETTINGS, SAVED, Flag, saved_words
from hw.learner.records import REPORT, record_granules
from hw.replay.commands import Opcode
from hw.shell.axi import EngineConfig
from hw.shell.command import round_up

__all__ = ["BAD", "SMALL", "WIDE", "PlayProgram", "Plays", "bad_images", "image"]

#: One optimizer, one multiplier: what compiles and runs fastest.
SMALL = playing(
    hidden=(3,),
    lanes=1,
    multipliers=1,
    update_units=0,
    optimizer="rmsprop",
    arithmetic=Arithmetic(kind="fixed"),
    batch=8,
)
#: Wide beats, two lanes, binary32.
WIDE = replace(
    playing(environments=5, longest=3, hidden=(3,), lanes=2, multipliers=2, batch=8),
    engine=EngineConfig(data_width=512, depth=64, burst_beats=16),
)


class PlayProgram(LearnProgram):
    """Also PLAY and the commands around it."""

    def __init__(self, config):
        super().__init__(record_granules(config.learner), COMMANDS)
        self.config = config

    def begin(self, source, *, seed=7, numbers=None):
        """SETUP to PROGRAM; ``source``: TrainingPrograms, whose ``numbers`` are the parameters."""
        self.setup(self.config.replay.capacity, self.granules, self.config.replay.one)
        self.raw(Opcode.SEED, state=[1, 2, 3, 4])
        self.load(source.numbers(15) if numbers is None else numbers, 15)
        self.task(seed=seed)

    def task(self, task=CartPole, *, words=None, seed=7, **fields):
        made, program = program_of(task)
        if words is None:
            words = image_of(program, made.limit).words
        state = np.random.SFC64(seed).state["state"]["state"]
        learner = self.config.learner
        values = dict(count=len(words), state=state, shift=program.action_fractions[0])
        values |= dict(observation=learner.observation, actions=learner.action)
        self.raw(
            PlayOpcode.PROGRAM,
            **{**values, "source": self.operand(np.array(words, "<u8")), **fields},
        )

    def play(self, count, flags, settings, segments, **fields):
        """A PLAY; ``settings`` of PLAY_SETTINGS, those that are not given 0."""
        own = {field.name: 0 for field in PLAY_SETTINGS.fields} | settings
        block = PLAY_SETTINGS.pack([int(own[field.name]) for field in PLAY_SETTINGS.fields])
        source = self.operand(np.frombuffer(block + segments.tobytes(), np.uint8))
        values = dict(count=count, flags=int(flags), segments=len(segments), source=source)
        values |= dict(episodes=8, reports=4) | fields
        first = round_up(values["episodes"] * self.config.engine.beat_bytes, 64)
        place = self.result(first + values["reports"] * REPORT.size)
        self.reports += [place + first + k * REPORT.size for k in range(values["reports"])]
        self.raw(PlayOpcode.PLAY, **{"destination": place, **values})

    def save(self):
        """Place of the words."""
        place = self.result(4 * sum(saved_words(self.config).values()))
        self.raw(PlayOpcode.SAVE, destination=place)
        return place

    def init(self, numbers):
        """``numbers``: an image of one set."""
        self.raw(PlayOpcode.INIT, source=self.operand(numbers))

    def resume(self, words):
        self.raw(PlayOpcode.RESUME, source=self.operand(words))


class Plays(TrainingPrograms):
    """Random numbers of PLAY, legal ones."""

    def __init__(self, config, seed):
        super().__init__(config, seed)
        self.rng = random.Random(seed)

    def segments(self, repeats):
        return segments_of(self.config, repeats)

    def command(self, program, saved, ready):
        """Adds a random command, sometimes a bad one; returns its kind. ``saved``: words of a SAVE,
        or None. ``ready``: that field of the status block."""
        rng, begins = self.rng, ready == 1 and self.rng.random() < 0.5
        kind = rng.choice(["play"] * 6 + ["save", "init", "task", *BAD] + ["resume"] * 2)
        if ready == 0 and rng.random() < 0.6:
            kind = "task"
        elif begins or (kind in ("resume", "bad_words") and saved is None):
            kind = "play"
        if kind == "play":
            self.play(program, Flag.LEARN + Flag.FRESH if begins else None)
        elif kind == "init":
            program.init(self.numbers(1))
        elif kind == "task":
            program.task(seed=rng.randrange(99))
        elif kind == "resume":
            program.resume(saved)
        elif kind != "save":
            BAD[kind](self, program, saved)
        return kind

    def play(self, program, flags=None, settings=(), **fields):
        rng, config = self.rng, self.config
        period = rng.choice([1, 1, 2, 3, 5])
        interval = rng.choice([1, 2, 3, 7])
        explore = rng.choice([0, 1 << 30, 1 << 31, (1 << 32) - 1, rng.getrandbits(32)])
        longest = min(config.play.longest, config.replay.capacity // config.play.environments)
        own = dict(
            period=period,
            iterations=rng.choice([0, 1, 1, 2, 3]),
            starts=rng.choice([0, 3, 12]),
            n=rng.choice([1, longest, rng.randint(1, longest)]),
            discount=rng.choice([0, 1 << 31, int(0.99 * 2**31)]),
            scale=rng.choice([1 << 31, 1 << 29, 12345]),
            explore=explore,
            decrement=rng.choice([0, 1 << 26, 1 << 31]),
            end=rng.randint(0, explore),
            target_interval=interval,
            step=rng.choice([0, 5, 1 << 31]),
            phase=rng.randrange(period),
            target_phase=rng.randrange(interval),
            window=rng.randint(0, 3),
            goal=rng.choice([1 << 60, 0, 20 << 30]),
        ) | dict(settings)
        if flags is None:
            flags = Flag.LEARN * (rng.random() < 0.8) + Flag.GREEDY * (rng.random() < 0.2)
            flags += Flag.FRESH * (rng.random() < 0.3) + Flag.GOAL * (rng.random() < 0.2)
        repeats = [rng.choice([0, 1, 1, 2, 3]) for _ in range(rng.randint(1, 4))]
        segments = self.segments(repeats)[: fields.pop("segments", None)]
        values = dict(stratum_width=1 << 48, alpha=19661, epsilon=7) | fields
        values.setdefault("batch", rng.randint(1, config.learner.batch))
        values.setdefault("episodes", rng.choice([0, 1, 4]))
        values.setdefault("reports", rng.choice([0, 1, 4]))
        count = values.pop("count", rng.randint(1, 12))
        program.play(count, flags, own, segments, **values)


def image(**lengths):
    """Words of CartPole's image, and where the header of each section is; with sections of other
    lengths."""
    made, program = program_of(CartPole)
    sections = dict(image_of(program, made.limit).sections)
    words, at, left = [], {}, len(sections)
    for section, (first, own) in sections.items():
        left -= 1
        own = list(own)
        count = lengths.get(section.name, len(own))
        own = (own * 40)[:count]
        at[section] = len(words)
        header = dict(section=int(section), first=first, last=first + count - 1, more=left > 0)
        words += [HEADER.const(header).as_bits(), *(word & ((1 << 36) - 1) for word in own)]
    return words, at


def changed(place, **fields):
    """Words of CartPole's image with other fields in the header of the section ``place``, and where
    that is."""
    words, at = image()
    header = HEADER.from_bits(words[at[place]])
    values = {name: getattr(header, name) for name in ("section", "first", "last", "more")}
    words[at[place]] = HEADER.const(values | fields).as_bits()
    return words, at[place]


def bad_images():
    """Images of a task for kernels with CartPole's sizes, each with the position of its first wrong
    word."""
    yield changed(Section.RESET, section=7)
    yield changed(Section.CONSTANTS, first=9, last=8)
    for name, count in (("BEGUN", 3), ("BEGUN", 5), ("STEPPED", 4), ("ACTIONS", 2), ("STATE", 33)):
        words, at = image(**{name: count})
        yield words, at[Section[name]]
    words, _ = image()
    yield words[:-1], len(words) - 1
    yield words[:1], 1
    yield [*words, 0], len(words)
    words, at = image()
    last = at[Section.CONSTANTS]
    yield changed(Section.STATE, more=0)[0], last
    words = changed(Section.STATE, more=0)[0][:last]
    yield words, last


def _settings(source, program, saved):
    """A setting that may break its rule."""
    checked = ("period", "iterations", "n", "discount", "end", "target_interval", "phase")
    name = source.rng.choice([*checked, "target_phase", "window"])
    value = source.rng.choice([0, (1 << 32) - 1, 1 << 16, 8, 3])
    others = dict(period=3, phase=0, target_interval=3, target_phase=0)
    source.play(program, settings=others | {name: value})


def _fields(source, program, saved):
    """Rings that are no power of two, or no segments."""
    name = source.rng.choice(["episodes", "reports", "segments"])
    source.play(program, Flag.LEARN + Flag.FRESH, **{name: 0 if name == "segments" else 3})


def _words(source, program, saved):
    """A wrong number in the header, or of open windows."""
    words, rng, play = saved.view(np.uint32).copy(), source.rng, source.config.play
    observation, at = source.config.learner.observation, rng.choice([0, 1, 2, None])
    if at is None:
        row = 1 + play.longest * (observation + 2)
        at = SAVED.size // 4 + play.environments * (REGISTERS + observation + 3)
        at += rng.randrange(play.environments) * row
    words[at] = rng.choice([play.longest, play.longest + 1, (1 << 32) - 1])
    program.resume(words)


def _task(source, program, saved):
    """An image that ends early or late, or with a wrong bit in a header."""
    made, traced = program_of(CartPole)
    image, rng = image_of(traced, made.limit), source.rng
    words, change, at = image.words, rng.randrange(4), 0
    if change == 0:
        words = words[: rng.randrange(1, len(words))]
    elif change == 1:
        words = words + [0] * rng.randrange(1, 5)
    else:
        before = rng.randrange(len(image.sections))
        at = sum(1 + len(own) for _, own in [*image.sections.values()][:before])
        words[at] ^= 1 << rng.randrange(20)
    program.task(words=words)


#: Kinds of bad commands; some are refused.
BAD = {"bad_settings": _settings, "bad_fields": _fields, "bad_words": _words, "bad_task": _task}
