"""Bit-exact twin of the kernels ``dqn``, ``ddpg`` and ``td3``, and of their core that plays, which
executes the commands of ``hw.learner.play.commands``."""

import numpy as np

from hw.learner.config import LearnerKernelConfig
from hw.learner.parameters.parameter_image import set_bytes
from hw.learner.play.commands import PLAYING
from hw.learner.play.play_contract import (
    PLAY_SETTINGS,
    PLAY_STATUS,
    Flag,
    PlayError,
    saved_words,
    segment_of,
)
from hw.learner.records import REPORT
from hw.replay.records import Error
from hw.shell.command import round_up
from sim.model.learner.core import LearnerCore
from sim.model.learner.play.player import Player, wrong_word
from sim.model.program import ProgramTwin

__all__ = ["LearnerKernel", "PlayingCore"]

_NONE = Error.NONE, 0
_WORD = (1 << 36) - 1


class PlayingCore(LearnerCore):
    """As LearnerCore, with PLAY, PROGRAM, INIT, SAVE and RESUME, for a config with ``play``.

    Attributes
    ----------
    stop : bool
        The stop bit: PLAY ends before the next vector step. PLAY does not change it.
    """

    COMMANDS, STATUS = PLAYING, PLAY_STATUS

    def __init__(self, config):
        super().__init__(config)
        self._player, self.stop = Player(config), False
        self.programmed = self.begun = 0
        record = config.learner.step_record
        self._segment, self._plain = segment_of(record), record

    def status(self):
        """Bytes of PLAY_STATUS; clock counts are 0."""
        block, player = np.zeros(PLAY_STATUS.size, np.uint8), self._player
        learner = super().status()
        block[: len(learner)] = learner
        record = block.view(PLAY_STATUS.dtype)
        record["step"], record["episodes"] = player.step, player.episodes.ended
        record["explore"], record["play_state"] = player.explore.epsilon, player.generator
        record["ready"] = self.programmed | self.begun << 1
        record["clipped"], record["returns"] = player.clipped, player.episodes.total
        return block

    # -- tasks and parameters

    def _program(self, c):
        self.programmed = self.begun = 0
        words = [int(word) & _WORD for word in self.at(c, "source").view("<u8")[: c.count]]
        wrong = wrong_word(words, self.config.learner.observation)
        if wrong is not None:
            return PlayError.TASK, wrong
        self._player.load(words, c.shift, c.state)
        self.programmed = 1
        return _NONE

    def _init(self, c):
        size = set_bytes(self.config.learner)
        self.learner.load(self.at(c, "source")[:size].view("<u4").copy(), ("online",))
        self.learner.begin()
        self.missing = 0
        return _NONE

    # -- what environments hold

    def _save(self, c):
        words, place = self._player.save(), self.words(c, "destination")
        place[:] = 0
        place[: len(words)] = words
        return _NONE

    def _resume(self, c):
        count = sum(saved_words(self.config).values())
        wrong = self._player.resume(self.words(c, "source")[:count].copy())
        self.begun = int(wrong is None)
        return _NONE if wrong is None else (PlayError.SAVED, wrong)

    # -- PLAY

    def _play(self, c):
        operands = self.at(c, "source")
        settings = PLAY_SETTINGS.unpack(operands.tobytes())
        learns = bool(c.flags & Flag.LEARN.value)
        wrong = self._refused_setting(settings, learns)
        if wrong is not None:
            return PlayError.SETTINGS, PLAY_SETTINGS.offsets[wrong]
        player, greedy = self._player, bool(c.flags & Flag.GREEDY.value)
        player.step = settings["step"]
        player.explore.epsilon = 0 if greedy else settings["explore"]
        schedule = (0, 0) if greedy else (settings["decrement"], settings["end"])
        if c.flags & Flag.FRESH.value:
            clipped = player.begin(*(settings[x] for x in ("n", "discount", "scale", "window")))
            self.begun = 1
            if clipped.any():
                return PlayError.ENVIRONMENT, int(np.argmax(clipped))
        segments = operands[PLAY_SETTINGS.size :][: c.segments * self._segment.size]
        work = _Iterations(segments.view(self._segment.dtype), self._plain, settings)
        phase = settings["phase"]
        for _ in range(c.count):
            met = c.flags & Flag.GOAL.value and player.episodes.met(settings["goal"])
            if self.stop or met:
                break
            played = player.play(self.learner.act, *schedule, c.episodes)
            self._put_episodes(c, played.episodes)
            phase = (phase + 1) % settings["period"]
            if learns and played.experiences:
                error, detail = self.replay.insert_records(
                    self._padded(played.experiences), count=len(played.experiences)
                )
                if error:
                    return error, detail
            if played.clipped.any():
                return PlayError.ENVIRONMENT, int(np.argmax(played.clipped))
            if learns and not phase and player.step >= settings["starts"]:
                for _ in range(settings["iterations"]):
                    error, detail, result = self._learned(c, work.next())
                    if result is not None:
                        self._put_report(c, result)
                    if error:
                        return error, detail
        return _NONE

    def _refused_setting(self, s, learns):
        """Name of the first field of PLAY_SETTINGS that breaks its rule; None if all are right."""
        play = self.config.play
        most = self.capacity // play.environments if learns else play.longest
        rules = {
            "period": 1 <= s["period"] <= 0xFFFF,
            "iterations": s["iterations"] <= 0xFFFF,
            "n": 1 <= s["n"] <= min(play.longest, most),
            "discount": s["discount"] <= 1 << 31,
            "end": s["end"] <= s["explore"],
            "target_interval": s["target_interval"] >= 1,
            "phase": s["phase"] < s["period"],
            "target_phase": s["target_phase"] < s["target_interval"],
            "window": s["window"] <= 7,
        }
        return next((name for name, right in rules.items() if not right), None)

    def _padded(self, experiences):
        """The words of all experiences, each with zeros up to whole granules."""
        words = np.zeros((len(experiences), self._record["experience"].itemsize // 4), np.uint32)
        words[:, : len(experiences[0])] = experiences
        return words.reshape(-1)

    def _put_episodes(self, c, episodes):
        size = self.config.engine.beat_bytes
        for place, record in episodes:
            beat = self.at(c, "destination")[place * size : (place + 1) * size]
            beat[:] = 0
            beat[: record.nbytes] = np.frombuffer(record.tobytes(), np.uint8)

    def _put_report(self, c, result):
        if not c.reports:
            return
        begin = round_up(c.episodes * self.config.engine.beat_bytes, 64)
        begin += (self.iterations - 1) % c.reports * REPORT.size
        report = self._report(result).tobytes()
        self.at(c, "destination")[begin : begin + REPORT.size] = np.frombuffer(report, np.uint8)


class LearnerKernel(ProgramTwin):
    """Twin of the whole kernels."""

    def make_core(self, description):
        config = LearnerKernelConfig.from_dict(description.config)
        return PlayingCore(config) if config.play else LearnerCore(config)


class _Iterations:
    """The records of a PLAY's iterations, one after the other."""

    def __init__(self, segments, record, settings):
        self._segments, self._record, self._at, self._done = segments, record, 0, 0
        self._number, self._interval = settings["target_phase"], settings["target_interval"]

    def next(self):
        """The record of the next iteration."""
        segment = self._segments[self._at]
        step = np.frombuffer(segment.tobytes(), self._record.dtype)[0].copy()
        step["reserved"] = 0
        self._number, self._done = (self._number + 1) % self._interval, self._done + 1
        if self._number:
            step["blend"], step["keep"] = 0, 1
        last = self._at == len(self._segments) - 1
        if self._done == int(segment["repeat"]) and not last:
            self._at, self._done = self._at + 1, 0
        return step
