"""A training program recorded on ``sim`` and on ``model``: the same bytes from every launch."""

import numpy as np
import pytest
from later import later
from recorder import Recorder, assert_same_launches
from replay.kernels import WIDE, opened
from replay.programs import masked

from host.replay.prioritized_buffer import PrioritizedReplayBuffer

BATCH, ACTORS = 64, 4
FIELDS = {
    "observation": (np.float32, (4,)),
    "next_observation": (np.float32, (4,)),
    "action": (np.int32, ()),
    "reward": (np.float32, ()),
    "terminated": (np.bool_, ()),
}


def train(card, count):
    """What DQN does with its memory, the TD errors made up from the batch; returns the record."""
    with opened(card, WIDE) as kernel:
        recorder = Recorder(kernel, masked)
        buffer = PrioritizedReplayBuffer(recorder, FIELDS, capacity=1000, seed=3)
        rng, batch = np.random.default_rng(4), None
        for step in range(count):
            experiences = {
                "observation": rng.standard_normal((ACTORS, 4)),
                "next_observation": rng.standard_normal((ACTORS, 4)),
                "action": rng.integers(0, 2, ACTORS),
                "reward": rng.random(ACTORS),
                "terminated": rng.random(ACTORS) < 0.1,
            }
            update = (
                None
                if batch is None
                else (batch["indexes"], batch["reward"] * batch["observation"][:, 0])
            )
            sample = (BATCH, min(1.0, 0.4 + step / count)) if step * ACTORS > BATCH else None
            batch = buffer.step(experiences, update, sample)
        state = buffer.state_dict()
        return recorder.launches, {
            name: np.asarray(value).tobytes() for name, value in state.items()
        }


@pytest.mark.parametrize("count", [700, later(2500)])
def test_every_launch_gives_the_same_bytes(count):
    (sim, sim_state), (model, model_state) = train("sim", count), train("model", count)
    assert len(model) > count
    assert_same_launches(sim, model)
    assert len({launch["results"] for launch in sim}) > 0.9 * count
    assert sim_state == model_state
