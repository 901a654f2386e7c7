"""Kernels that play on their twin alone: commands in, bytes of memory out; and tasks of CartPole's
sizes, some whose state leaves its format."""

from dataclasses import replace

import numpy as np
from learner.modelled import kernel_config, weights

from host.environments.task_ids import program_of
from host.learner.hyperparameters import hyperparameter_records
from host.learner.parameters import to_image, zero_moments
from host.programs.encoder import encode
from hw.arith.fixed import SQ
from hw.environment.machine_image import image_of
from hw.environment.task import Task
from hw.environment.tasks.cartpole import CartPole
from hw.learner.commands import LearnOpcode
from hw.learner.play.commands import COMMANDS, PlayOpcode
from hw.learner.play.config import PlayConfig
from hw.learner.play.play_contract import PLAY_SETTINGS, Flag, saved_words, segment_of
from hw.learner.records import record_granules
from hw.replay.commands import Opcode
from hw.shell.program import COMMAND_BYTES
from sim.card.memory import Buffer, Memory
from sim.model.learner.kernel import PlayingCore

__all__ = ["BATCH", "CONFIG", "LEARN", "Begins", "Calm", "Ends", "EndsAtOnce", "Played"]
__all__ += ["Runaway", "playing", "segments_of"]

BATCH, CAPACITY = 8, 64
LEARN, GREEDY, FRESH, GOAL = (each.value for each in Flag)
_ROOM = 1 << 16


def playing(environments=3, longest=4, **learner):
    """A kernel's config for CartPole."""
    sizes = dict(observation=4, action=2, hidden=(6,), capacity=CAPACITY) | learner
    config = kernel_config("dqn", **sizes)
    return replace(config, play=PlayConfig(environments=environments, longest=longest))


CONFIG = playing()


def segments_of(config, repeats, **values):
    """SEGMENTs with rates that differ, whose blend is 1."""
    record = config.learner.step_record
    rates = 0.01 / (1 + np.arange(len(repeats)))
    options = dict(scale=1 / BATCH, clip=1.0, first_decay=0.5, second_decay=0.9, floor=1e-3)
    options |= dict(rate=np.stack([rates] * 2, 1), blend=1.0, beta=0.5)
    steps = hyperparameter_records(len(repeats), record, **options | values)
    segments = steps.view(segment_of(record).dtype)
    segments["repeat"] = repeats
    return segments


class Played:
    """A core's twin with memory. Attributes ``operands``, ``results`` and ``storage`` are bytes."""

    def __init__(self, config=CONFIG, task=CartPole, seed=7, ready=True):
        self.config, self.core = config, PlayingCore(config)
        self.memory, self.arguments = [], {}
        for k, name in enumerate(("operands", "results", "storage")):
            data = np.zeros(_ROOM, np.uint8)
            setattr(self, name, data)
            self.memory.append(Buffer("m_axi_host", (k + 1) << 32, data))
            self.arguments[name] = (k + 1) << 32
        for name, (size, unit, _) in self.core._declared.items():
            if name in self.arguments:
                self.arguments[size] = _ROOM // unit
        self._shown = Memory(self.memory)
        if ready:
            self.setup()
            self.task(task, seed)

    def setup(self):
        learner = self.config.learner
        one = self.config.replay.one
        granules = record_granules(learner)
        self.run(
            Opcode.SETUP, capacity=self.config.replay.capacity, granules=granules, priority=one
        )
        self.run(Opcode.SEED, state=list(range(1, 5)))
        image, _, _ = to_image(learner, zero_moments(weights(self.config)))
        own = image.view(np.uint8)
        self.operands[: own.size] = own
        self.run(LearnOpcode.LOAD, count=own.size, sets=15)

    def task(self, task=CartPole, seed=7, words=None, **fields):
        made, program = program_of(task)
        if words is None:
            words = image_of(program, made.limit).words
        raw = np.array(words, "<u8").view(np.uint8)
        self.operands[: raw.size] = raw
        state = np.random.SFC64(seed).state["state"]["state"].tolist()
        return self.run(
            PlayOpcode.PROGRAM,
            **dict(count=len(words), state=state, shift=program.action_fractions[0],
                   observation=4, actions=2) | fields,
        )  # fmt: skip

    def run(self, opcode, **fields):
        """``(error, detail)`` of a command."""
        raw = encode(COMMANDS, [(opcode, fields)], self.config).tobytes()
        assert len(raw) == COMMAND_BYTES
        return self.core.execute(raw, self.arguments, self._shown)

    def play(self, count, flags=LEARN, segments=None, settings=(), **fields):
        """A PLAY with usual settings, changed by ``settings``, from the state of the last one."""
        status = self.status
        own = dict(period=4, iterations=2, starts=8, n=3, discount=int(0.9 * 2**31), scale=1 << 29)
        own |= dict(explore=1 << 31, decrement=1 << 24, end=1 << 28, target_interval=3, window=2)
        own |= dict(goal=1 << 60, step=0, phase=0, target_phase=0)
        if not flags & FRESH:
            own |= dict(step=int(status["step"]), explore=int(status["explore"]))
            own |= dict(phase=own["step"] % own["period"])
            own |= dict(target_phase=int(status["iterations"]) % own["target_interval"])
            own["end"] = min(own["end"], own["explore"])
        own |= dict(settings)
        block = PLAY_SETTINGS.pack([own[field.name] for field in PLAY_SETTINGS.fields])
        if segments is None:
            segments = segments_of(self.config, [0])
        raw = block + segments.tobytes()
        self.operands[: len(raw)] = np.frombuffer(raw, np.uint8)
        usual = dict(count=count, flags=flags, segments=len(segments), episodes=16, reports=8)
        usual |= dict(batch=BATCH, stratum_width=1 << 48, alpha=1 << 14, epsilon=9)
        return self.run(PlayOpcode.PLAY, **usual | fields)

    def save(self):
        words = sum(saved_words(self.config).values())
        assert self.run(PlayOpcode.SAVE, destination=1 << 15) == (0, 0)
        return self.results[1 << 15 :][: 4 * words].view(np.uint32).copy()

    def resume(self, words):
        self.operands[: words.nbytes] = words.view(np.uint8)
        return self.run(PlayOpcode.RESUME)

    @property
    def status(self):
        return np.frombuffer(self.core.status(), self.core.STATUS.dtype)[0]

    @property
    def rings(self):
        return self.results[: 16 * self.config.engine.beat_bytes + 8 * 64].tobytes()

    @property
    def state(self):
        """All that a later command can see, as bytes."""
        core = self.core
        parts = core.status(), self.storage, core.learner.store(), core.replay.manager.tree
        return b"".join(part.tobytes() for part in parts)


class Runaway(Task):
    """It doubles with each step."""

    formats = dict(a=SQ(2, 30), b=SQ(2, 30), c=SQ(2, 30), d=SQ(2, 30))
    actions = 2
    observation = dict.fromkeys("abcd", (-2.0, 2.0))
    limit, start = 9, 0.25

    def reset(self, random):
        return [random(0.0, self.start) + random(0.0, self.start), 0.0, 0.0, 0.0]

    def step(self, state, action, random):
        a, *rest = state
        return [a + a, *rest], 1.0, False


class Begins(Runaway):
    """It has left it when it begins."""

    start = 1.5

    def step(self, state, action, random):
        return list(state), 1.0, False


class EndsAtOnce(Begins):
    """Each step ends the episode, and one in some of the next begins wrong."""

    start = 1.15

    def step(self, state, action, random):
        return [0.0] * 4, 1.0, True


class Calm(Begins):
    """Nothing changes, and no episode ends."""

    limit, start = 60_000, 0.1


class Ends(Calm):
    """Each step ends the episode."""

    def step(self, state, action, random):
        return [0.0] * 4, 1.0, True
