"""Acting in the card's own arithmetic: observations go to a learner's kernel, actions come back."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from host.learner.parameters import set_bits
from host.programs.launcher import aligned
from host.values import array_of, held
from hw.errors import UsageError
from hw.learner.commands import LearnOpcode
from hw.learner.records import action_granules, observation_granules
from hw.replay.records import GRANULE_BYTES

__all__ = ["CardInference"]


class CardInference:
    """A base class of ``host.learner.learning_replay.LearningReplay``: the method ``act``, which
    infers with the online parameters on the card."""

    def act(self, observations: ArrayLike) -> NDArray[np.float32]:
        """The outputs of the online network, float32 [n, action], for observations [n,
        observation]: the Q values of all actions (dqn), or the actor's action, whose numbers are in
        [-1, 1] (ddpg).

        All n observations are one launch, with a command for each batch of at most the learner's
        batch; if n is 0, nothing is launched. Nothing that the card stores changes. ValueError for
        another shape, for a number that float32 does not hold, and before ``initialize`` or
        ``load``; then nothing was launched.
        """
        return self._act(observations)

    def _act(self, observations, **options):
        """``options`` : fields of the first ACT; each command after it has a seed larger by one."""
        learner = self.learner
        given = array_of("observations", observations)
        if given.ndim != 2 or given.shape[1] != learner.observation:
            raise UsageError(
                f"observations must be [n, {learner.observation}], not {list(given.shape)}"
            )
        seen = held("observations", given, np.float32)
        self._check_loaded(("online",))
        if not len(seen):
            return np.zeros((0, learner.action), np.float32)
        program, operands, places = [], [], []
        source = destination = 0
        for begin in range(0, len(seen), learner.batch):
            part = _padded(seen[begin : begin + learner.batch], observation_granules(learner))
            fields = {"count": len(part), "source": source, "destination": destination, **options}
            if "seed" in options:  # no noise twice
                fields["seed"] = (options["seed"] + len(program)) % (1 << 64)
            program.append((LearnOpcode.ACT, fields))
            operands.append((source, part))
            places.append((destination, len(part)))
            source = aligned(source + part.nbytes)
            destination = aligned(
                destination + len(part) * action_granules(learner) * GRANULE_BYTES
            )
        results = self.launcher.run(program, operands, destination)
        words = action_granules(learner) * GRANULE_BYTES // 4
        rows = [
            results[at:].view(np.float32)[: count * words].reshape(count, words)
            for at, count in places
        ]
        return np.concatenate(rows)[:, : learner.action].copy()

    def _check_loaded(self, sets):
        if set_bits(sets) & ~int(self.status["loaded"]):
            raise UsageError("parameters must be loaded first (initialize, or load), not missing")


def _padded(rows, granules):
    """``rows``, each padded with zeros to this number of granules."""
    padded = np.zeros((len(rows), granules * GRANULE_BYTES // 4), np.float32)
    padded[:, : rows.shape[1]] = rows
    return padded
