"""Bit-exact twin of ``hw.learner.core``: the replay core's twin, and a learner's.

An iteration of LEARN is a SAMPLE, a gradient step, an UPDATE and an INSERT, one after the other. An
iteration of TRAIN is the gradient step alone.
"""

import numpy as np

from hw.learner.commands import LEARNING
from hw.learner.config import PARAMETER_SETS
from hw.learner.records import (
    LEARNER_STATUS,
    LIMIT,
    REPORT,
    STEP,
    LearnError,
    action_granules,
    observation_granules,
    record_granules,
)
from hw.replay.records import GRANULE_BYTES, HEADER, ITEM, Error
from hw.shell.command import round_up
from hw.shell.program import COMMAND_BYTES
from sim.model.learner.network.trainer import Trainer
from sim.model.program import CommandTwin
from sim.model.replay.kernel import ReplayCore

__all__ = ["LearnerCore"]

#: Smaller numbers are zeros to the hardware.
_TINY = np.finfo(np.float32).tiny
#: Largest magnitude of a shift.
_MAX_SHIFT = 8


class LearnerCore(CommandTwin):
    """Executes the commands of ``hw.learner.commands`` on a learner's twin, and passes all others
    to the replay core's twin that it contains.

    config : LearnerKernelConfig
    make_learner : a function that makes the learner's twin from a LearnerConfig; by default the
        class ``Trainer``.
    """

    COMMANDS, BUFFERS = LEARNING, ReplayCore.BUFFERS
    #: Whether an INSERT is refused for what no batch may have.
    CHECKS_INSERTS = False

    def __init__(self, config, make_learner=Trainer):
        self.config = config
        self._own = {opcode.value for opcode in self.COMMANDS}  # those that are no replay core's
        self.replay = ReplayCore(config, self._refused if self.CHECKS_INSERTS else None)
        self.learner = make_learner(config.learner)
        self.iterations, self.missing = 0, (1 << len(PARAMETER_SETS)) - 1
        self.saturations = np.zeros(3, np.uint64)
        fields = config.fields
        experience = np.dtype(
            {
                "names": list(fields),
                "formats": list(fields.values()),
                "itemsize": record_granules(config.learner) * GRANULE_BYTES,
            }
        )
        self._record = np.dtype([("header", HEADER.dtype), ("experience", experience)])

    @property
    def capacity(self):
        return self.replay.capacity

    @property
    def granules(self):
        return self.replay.granules

    @property
    def fill(self):
        return self.replay.fill

    @property
    def ring(self):
        """That of the replay core; None if an INSERT is checked in a way that a ring is not."""
        return None if self.CHECKS_INSERTS else self.replay.ring

    def status(self):
        """Bytes of LEARNER_STATUS; clock counts are 0."""
        block = np.zeros(LEARNER_STATUS.size, np.uint8)
        replay = np.frombuffer(self.replay.status(), np.uint8)
        block[: len(replay)] = replay
        record = block.view(LEARNER_STATUS.dtype)
        record["iterations"] = self.iterations
        record["loaded"] = self.missing ^ (1 << len(PARAMETER_SETS)) - 1
        return block

    def execute(self, raw, arguments, memory):
        """Checks and runs one command, the 64 bytes ``raw``, here or in the replay core's twin;
        returns ``(error, detail)``. ``arguments`` and ``memory`` are the launch's."""
        self.replay.arguments, self.replay.memory = arguments, memory
        if int.from_bytes(raw[:4], "little") not in self._own:
            return self.replay.execute(raw, arguments, memory)
        return super().execute(raw, arguments, memory)

    # -- LEARN and TRAIN

    def _learn(self, c):
        return self._iterations(c, self._iterate)

    def _train(self, c):
        return self._iterations(c, self._train_on)

    def _iterations(self, c, iterate):
        """``iterate(c, iteration, step)`` returns ``(error, detail, result)``; ``result`` is None
        if the iteration learned nothing."""
        record = self.config.learner.step_record
        steps = self.at(c, "source")[: c.count * record.size].view(record.dtype)
        reports = self.at(c, "destination")[: c.count * REPORT.size].reshape(c.count, REPORT.size)
        for iteration in range(c.count):
            error, detail, result = iterate(c, iteration, steps[iteration])
            if result is not None:
                # The whole record, what no field names being zeros.
                reports[iteration] = np.frombuffer(self._report(result).tobytes(), np.uint8)
            if error:
                return error, detail
        return Error.NONE, 0

    def _iterate(self, c, iteration, step):
        error, detail, result = self._learned(c, step)
        if result is not None and not error and c.inserts:
            error, detail = self.replay.insert(
                count=c.inserts,
                source=c.experiences + iteration * round_up(c.run, COMMAND_BYTES),
                given=c.given,
                priorities=c.priorities
                + iteration * round_up(c.inserts * ITEM.size, COMMAND_BYTES),
                alpha=c.alpha,
                epsilon=c.epsilon,
            )
        return error, detail, result

    def _learned(self, c, step):
        """An iteration without its INSERT, as ``_iterations`` takes it; ``c`` has the command's
        stratum_width, batch, alpha and epsilon."""
        batch, replay = c.batch, self.replay
        if wrong := self._wrong_step(step):
            return wrong
        records = np.zeros(batch * self._record.itemsize, np.uint8)
        error, detail = replay.draw(
            records.view(np.uint32),
            count=batch,
            stratum_width=c.stratum_width,
            beta=int(step["beta"]),
        )
        if error:
            return error, detail, None
        error, detail, result, items = self._trained(records, batch, step)
        if error:
            return error, detail, None
        weighing = dict(alpha=c.alpha, epsilon=c.epsilon)
        error, detail = replay.update(items.view(np.uint32), count=batch, **weighing)
        self.iterations += 1
        return error, detail, result

    def _train_on(self, c, iteration, step):
        if wrong := self._wrong_step(step):
            return wrong
        records = self.at(c, "batches")[iteration * round_up(c.run, COMMAND_BYTES) :]
        error, detail, result, items = self._trained(records, c.batch, step)
        if error:
            return error, detail, None
        size = round_up(len(items), self.config.engine.beat_bytes)
        place = iteration * round_up(len(items), COMMAND_BYTES)
        beats = self.at(c, "td_errors")[place : place + size]
        beats[:], beats[: len(items)] = 0, items
        self.iterations += 1
        return Error.NONE, 0, result

    def learn(self, step, batch, stratum_width, power, records, first_priorities):
        """An iteration of LEARN for a program in this process, on the ``ring``, byte for byte.

        step : record of HYPERPARAMETERS
        batch, stratum_width : as the command's
        power : dict with the command's alpha and epsilon
        records : experiences to store, structured array, at most the ring's capacity
        first_priorities : dict with ``given``, ``values`` and what else ``ring.insert`` takes

        Returns ``(error, detail, report)``; the record REPORT is None with an error.
        """
        if wrong := self._wrong_step(step):
            return wrong
        ring = self.ring
        if not ring.manager.total:
            return Error.EMPTY, 0, None
        drawn = np.empty(batch, self._record["experience"])
        indexes, weights = ring.draw(batch, int(step["beta"]), stratum_width, drawn)
        error, detail, result = self._gradient_step(drawn, indexes, weights, step)
        if error:
            return error, detail, None
        if not ring.update(indexes, np.array(result.td, np.float32), **power):
            return Error.TD, 0, None
        if len(records):
            ring.insert(records, **first_priorities)
        self.iterations += 1
        return Error.NONE, 0, self._report(result)

    def _wrong_step(self, step):
        """What an iteration returns for a STEP whose number breaks its rule, with the byte of the
        first one; None if all are right."""
        learner = self.config.learner
        if learner.step_record is not STEP:
            return None
        wrong = []
        if learner.clip_norm:
            for rate in learner.rates:
                if not step["max_norm"][rate] >= _TINY:
                    wrong.append(STEP.offsets["max_norm"] + 4 * rate)
        if learner.plan.sweeps > 1 and int(step["sweeps"]) % 2 == 0:
            wrong.append(STEP.offsets["sweeps"])
        if learner.plan.smooths:
            if not -_TINY < step["noise"] < np.inf:
                wrong.append(STEP.offsets["noise"])
            if not step["noise_clip"] > -_TINY:
                wrong.append(STEP.offsets["noise_clip"])
        for place in learner.plan.shifts:
            if abs(int(step["shift"][place])) > _MAX_SHIFT:
                wrong.append(STEP.offsets["shift"] + place)
        return (LearnError.STEP, min(wrong), None) if wrong else None

    def _trained(self, records, batch, step):
        """``(error, detail, result, items)`` of a gradient step on a batch in memory; ``items`` is
        the list that UPDATE takes, uint8, or None with an error."""
        records = records[: batch * self._record.itemsize].view(self._record)
        indexes, weights = records["header"]["index"], records["header"]["weight"]
        found = self._gradient_step(records["experience"], indexes, weights, step)
        error, detail, result = found
        if error:
            return *found, None
        items = np.zeros(batch, ITEM.dtype)
        items["index"], items["value"] = indexes, np.asarray(result.td, "<f4").view("<u4")
        return *found, items.view(np.uint8)

    def _gradient_step(self, experiences, indexes, weights, step):
        """``(error, detail, result)``."""
        bad = self._bad(experiences)
        bad |= ~np.isfinite(weights) | np.signbit(weights)
        if not bad.any() and weights.max() < _TINY:
            bad[-1] = True
        if bad.any():
            return LearnError.NUMBER, int(indexes[np.argmax(bad)]), None
        names = experiences.dtype.names
        result = self.learner.train(
            {name: experiences[name] for name in names},
            indexes,
            weights,
            step,
        )
        self.saturations += np.asarray(result.saturations, np.uint64)
        if result.diverged is not None:
            return LearnError.DIVERGED, int(indexes[result.diverged]), None
        return Error.NONE, 0, result

    def _report(self, result):
        report = np.zeros((), REPORT.dtype)
        report["loss"], report["td"] = result.loss, result.td_sum
        report["value"], report["weight"] = result.value, result.weight
        report["saturations"] = np.minimum(self.saturations, 0xFFFF_FFFF)
        report["position"] = self.replay.position
        return report

    def _bad(self, experiences):
        """Which experiences are bad, bool [batch]: a number is infinite or NaN, an action does not
        exist, or a number is beyond its limits (``hw.learner.records.word_rules``)."""
        learner, bad = self.config.learner, np.zeros(len(experiences), bool)
        if learner.discrete:
            bad |= experiences["action"] >= learner.action
        if learner.bounded:
            discount = experiences["discount"]
            bad |= (np.abs(experiences["action"]) > 1).any(axis=1)
            bad |= np.signbit(discount) | (discount > 1)
        if learner.early_priorities:
            for name in ("reward", "discount"):
                bad |= np.abs(experiences[name]) >= LIMIT
        for name in experiences.dtype.names:
            values = experiences[name]
            if values.dtype.kind == "f":
                bad |= ~np.isfinite(values).reshape(len(values), -1).all(axis=1)
        return bad

    def _refused(self, words):
        """``(error, position)`` of an INSERT of experiences; experiences of another size are all
        taken."""
        experience = self._record["experience"]
        if words.shape[1] * 4 != experience.itemsize:
            return Error.NONE, 0
        bad = self._bad(words.view(experience)[:, 0])
        return (LearnError.NUMBER, int(np.argmax(bad))) if bad.any() else (Error.NONE, 0)

    # -- ACT

    def _act(self, c):
        learner = self.config.learner
        size = c.count * observation_granules(learner) * GRANULE_BYTES
        observations = self.at(c, "source")[:size].view("<f4").reshape(c.count, -1)
        observations = observations[:, : learner.observation]
        bad = ~np.isfinite(observations).all(axis=1)
        if bad.any():
            return LearnError.NUMBER, int(np.argmax(bad))
        actions = np.zeros((c.count, action_granules(learner) * GRANULE_BYTES // 4), np.float32)
        actions[:, : learner.action] = self.acted(c, observations)
        # Whole beats are written.
        place = self.at(c, "destination")
        place[:] = 0
        place[: actions.nbytes] = actions.view(np.uint8).reshape(-1)
        return Error.NONE, 0

    def acted(self, c, observations):
        """What an ACT answers: the learner's outputs, float32 [n, action], for ``observations``
        [n, observation], which are finite. ``c`` has the fields of the ACT."""
        return self.learner.act(observations)

    # -- LOAD and STORE

    def _load(self, c):
        sets = self._sets(c)
        self.learner.load(self.at(c, "source")[: c.count].view("<u4").copy(), sets)
        self.missing &= ~c.sets
        return Error.NONE, 0

    def _store(self, c):
        numbers = np.ascontiguousarray(self.learner.store(self._sets(c)))
        self.at(c, "destination")[: c.count] = numbers.view(np.uint8)
        return Error.NONE, 0

    @staticmethod
    def _sets(c):
        return tuple(
            parameter_set for k, parameter_set in enumerate(PARAMETER_SETS) if c.sets >> k & 1
        )
