"""Random rounds of ``host.a3c.card_network`` whose errors depend on earlier outputs, as those of an
agent do: if outputs differ once, all later ones differ."""

import numpy as np
from fa3c.rounds import screens_of
from fa3c.tasks import Lists, Reference

from host.a3c.card_network import Infer, Sync, Train

__all__ = ["Player"]

_ROOM = 1 << 20  # of operands and results: more than any list of these tests needs
_INFER, _TRAIN, _SYNC = range(3)


class Player:
    """Plays on an ``ActorCritic`` whose parameters are loaded; it needs to know nothing else.

    Attributes
    ----------
    played : int
        Number of tasks so far.
    """

    def __init__(self, card, seed):
        self.card, self.config, self.played = card, card.config, 0
        self.reference = Reference(self.config)
        self.lists = Lists(self.reference, seed, _ROOM, _ROOM)
        self.rng = np.random.default_rng(seed)
        shape = self.config.agents, self.config.steps, self.config.outputs
        self.outputs = np.zeros(shape, np.float32)

    def round(self):
        """One round of as many tasks as the state allows."""
        records = self.lists.good()
        made = {_INFER: self._infer, _TRAIN: self._train, _SYNC: self._sync}
        results = self.card.run([made[record["kind"]](record) for record in records])
        for record, outputs in zip(records, results, strict=True):
            if record["kind"] == _INFER and record["step"] < self.config.steps:
                self.outputs[Reference.agents(record), record["step"]] = outputs
        self.reference.execute(records)
        self.played += len(records)

    def _infer(self, record):
        agents, step = Reference.agents(record), record["step"]
        return Infer(
            unit=record["unit"],
            snapshot=record["snapshot"],
            agents=agents,
            observations=screens_of(self.config, len(agents), self.rng),
            step=None if step == self.config.steps else step,
        )

    def _train(self, record):
        (agent,) = Reference.agents(record)
        errors = np.tanh(self.outputs[agent, : record["count"]])
        return Train(
            unit=record["unit"],
            snapshot=record["snapshot"],
            agent=agent,
            errors=errors + self.rng.normal(0, 0.1, errors.shape),
            rate=10 ** self.rng.uniform(-4, -2),
            decay=self.rng.uniform(0.9, 1),
            epsilon=0.01,
        )

    @staticmethod
    def _sync(record):
        return Sync(snapshot=record["snapshot"])
