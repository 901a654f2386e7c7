"""A training program recorded on ``sim`` and on ``model``: the same bytes from every launch."""

import hashlib

import numpy as np
from replay.kernels import WIDE, opened
from replay.programs import masked

from host.runtime.replay import PrioritizedReplayBuffer

LAUNCHES = 2500
BATCH, ACTORS = 64, 4
FIELDS = {
    "observation": (np.float32, (4,)),
    "next_observation": (np.float32, (4,)),
    "action": (np.int32, ()),
    "reward": (np.float32, ()),
    "terminated": (np.bool_, ()),
}


class Recorder:
    """A ``host.card.Kernel`` that keeps digests of all that enters and leaves a launch."""

    def __init__(self, kernel):
        self.kernel, self.description, self.launches = kernel, kernel.description, []
        self.buffer, self.check, self.claims = kernel.buffer, kernel.check, kernel.claims

    def launch(self, **arguments):
        record = {
            "arguments": repr(
                sorted((name, value) for name, value in arguments.items() if isinstance(value, int))
            ).encode(),
            "program": bytes(arguments["program"].view),
            "operands": bytes(arguments["operands"].view),
        }
        self.kernel.launch(**arguments)
        for name in ("results", "status"):
            arguments[name].from_device()
            record[name] = arguments[name].view
        record["status"] = masked(record["status"])
        self.launches.append(
            {
                name: hashlib.blake2b(data, digest_size=8).hexdigest()
                for name, data in record.items()
            }
        )


def train(card):
    """What DQN does with its memory, the TD errors made up from the batch; returns the record."""
    with opened(card, WIDE) as kernel:
        recorder = Recorder(kernel)
        buffer = PrioritizedReplayBuffer(recorder, FIELDS, capacity=1000, seed=3)
        rng, batch = np.random.default_rng(4), None
        for step in range(LAUNCHES):
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
            sample = (BATCH, min(1.0, 0.4 + step / LAUNCHES)) if step * ACTORS > BATCH else None
            batch = buffer.step(experiences, update, sample)
        state = buffer.state_dict()
        return recorder.launches, {
            name: np.asarray(value).tobytes() for name, value in state.items()
        }


def test_every_launch_gives_the_same_bytes():
    (sim, sim_state), (model, model_state) = train("sim"), train("model")
    assert len(sim) == len(model) > LAUNCHES
    for number, (got, expected) in enumerate(zip(sim, model, strict=True)):
        for name in expected:
            assert got[name] == expected[name], f"{name} of launch {number} differs"
    assert len({launch["results"] for launch in sim}) > 0.9 * LAUNCHES
    assert sim_state == model_state
