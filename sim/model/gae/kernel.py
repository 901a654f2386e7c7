"""Bit-exact twin of the kernel ``gae``: ``hw.gae.core`` with its engines."""

import numpy as np

from hw.gae.commands import COMMANDS
from hw.gae.config import GaeKernelConfig
from hw.gae.records import GAE_STATUS, Error, Kind, Phase
from sim.model.gae.array.estimator import Estimator
from sim.model.gae.intake.intake import Intake
from sim.model.gae.rollout import Rollouts
from sim.model.program import CommandTwin, ProgramTwin

__all__ = ["GaeCore", "GaeKernel"]


class GaeCore(CommandTwin):
    """Executes the commands of ``hw.gae.commands`` on an ``Estimator``, which holds the slots, and
    on card memory. Its state stays from launch to launch. ``rollouts`` estimates whole rollouts,
    without commands and without that state."""

    COMMANDS = COMMANDS

    def __init__(self, config):
        self.config = config
        self.estimator = Estimator(config.gae)
        self.intake, self.rollouts = Intake(config), Rollouts(config.gae)
        self.phase, self.clipped = Phase.CODES.value, 0
        self.open = np.zeros(config.gae.rows, bool)

    @property
    def fill(self):
        return self.estimator.fill

    @property
    def unfinished(self):
        return bool(self.open.any())

    @property
    def unfinished_row(self):
        return int(np.argmax(self.open))

    def status(self):
        """Bytes of GAE_STATUS; clock counts are 0."""
        record = np.zeros((), GAE_STATUS.dtype)
        record["phase"], record["clipped"] = self.phase, self.clipped & 0xFFFF_FFFF
        for name in ("fill", "saturated", "overflows", "busy"):
            record[name] = getattr(self.estimator, name)
        return np.frombuffer(record.tobytes(), np.uint8)

    def _clear(self, c):
        self.estimator.clear()
        self.phase, self.clipped = Phase.CODES.value, 0
        self.open[:] = False
        return Error.NONE, 0

    def _statistics(self, c):
        error, detail, moments = self.intake.statistics(self.at(c, "source"), c)
        if error:
            return error, detail
        self.at(c, "destination")[:] = moments
        return Error.NONE, 0

    def _push(self, c):
        return self._pushed(*self.intake.numbers(self.at(c, "source"), c, self.open))

    def _push_codes(self, c):
        return self._pushed(*self.intake.codes(self.at(c, "source"), self.open))

    def _pushed(self, error, detail, slots, clipped):
        if error:
            return error, detail
        last = slots.kinds[self.config.gae.depth - self.estimator.fill :]
        if np.isin(last, (Kind.STEP.value, Kind.TERMINAL.value)).any():
            return Error.FULL, 0
        self.estimator.push(*slots)
        self.open = slots.kinds[-1] == Kind.STEP.value
        self.clipped += clipped
        return Error.NONE, 0

    def _estimate(self, c):
        names = ["gamma", "decay", "decay_power", "result_mean"]
        if self.config.gae.code_width < 32:
            names += ["reward_scale", "reward_mean", "value_scale", "value_mean"]
        self.estimator.estimate(**{name: getattr(c, name) for name in names})
        self.phase = Phase.RESULTS.value
        return Error.NONE, 0

    def _pull(self, c):
        gae, beat = self.config.gae, self.config.engine.beat_bytes
        planes = self.config.slot_beats["results"]
        raw = self.at(c, "destination").reshape(c.count, sum(planes) * beat)
        raw[:] = 0
        begin, kind = 0, f"<i{gae.result_width // 8}"
        for beats, plane in zip(planes, self.estimator.pull(c.count), strict=True):
            plane = np.ascontiguousarray(plane.astype(kind))
            raw[:, begin : begin + gae.rows * plane.itemsize] = plane.view(np.uint8)
            begin += beats * beat
        return Error.NONE, 0


class GaeKernel(ProgramTwin):
    def make_core(self, description):
        return GaeCore(GaeKernelConfig.from_dict(description.config))
