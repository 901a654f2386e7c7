"""PEARL's order of a replay memory (section IV): priorities, insertion, draw. What was drawn stays
as it was while its slots are overwritten, and no new experience gets an old one's priority."""

import numpy as np
import pytest

from host.runs.assembly import build
from host.runs.request import request
from host.runs.start_run import on_card
from tests.host.actors.acted import INLINE

BATCH = 16


@pytest.mark.parametrize("memory", ["card", "tree"])
@pytest.mark.parametrize("actors", [0, 2])
def test_every_slot_is_overwritten(memory, actors):
    """A launch brings as many experiences as the memory has slots, and draws as many."""
    sizes = dict(hidden=(8,), batch_size=BATCH, capacity=BATCH, learning_starts=BATCH, n_step=1)
    order = dict(actors=actors, actor_order="fixed") if actors else {}
    own = dict(env_count=4, steps_per_launch=4, learner="cpu", memory=memory, beta_start=1.0)
    config, _ = request("dqn", options={}, settings=own | sizes | order)
    inserted, learned = [], []
    with on_card(config, "model") as (factory, _, _):
        session = build(config, factory, actors=INLINE)
        learner = session.learner
        launch, update = learner.launch, learner.updater.update

        def recorded(experience, plan):
            batches = launch(experience, plan)
            kept = [{name: array.copy() for name, array in each.items()} for each in batches or ()]
            inserted.append((experience, kept))
            return batches

        def watched(batch, clock):
            experience, [kept] = inserted[-1]
            learned.append(batch["obs"].copy())
            for name, array in kept.items():
                assert np.array_equal(batch[name], array), name
            own = {row.tobytes() for row in experience["obs"]}
            assert {row.tobytes() for row in batch["obs"]} <= own, "of this launch alone"
            assert (batch["weights"] == 1).all(), "each has the priority of a new one"
            errors, measured = update(batch, clock)
            return errors * np.linspace(0.1, 30, len(errors), dtype=np.float32), measured

        learner.launch, learner.updater.update = recorded, watched
        for _ in range(12):
            session.iterate()
        session.close()
    assert len(learned) == 11 and len(np.unique(np.concatenate(learned), axis=0)) > BATCH
