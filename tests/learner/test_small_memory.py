"""host.learner.learning_replay where the host's bank is smaller than an image of all parameters."""

from contextlib import contextmanager

import numpy as np
import pytest
from learner.modelled import equal, experiences, weights

import boards
from host.cards import CapacityError, open_card
from host.kernels import card_banks, configure
from host.learner.hyperparameters import hyperparameter_records
from host.learner.learning_replay import LearningReplay
from hw.designs import DESIGNS
from hw.learner.config import PARAMETER_SETS
from sim.card.memory import Bank

BOARD, DESIGN = boards.get("ulx3s", "dqn"), DESIGNS["dqn"]
CONFIG = configure(DESIGN, BOARD, {})
OWN = card_banks(DESIGN.describe(CONFIG), BOARD)
LARGE = tuple(Bank(bank.name, 1 << 24) for bank in OWN)


@contextmanager
def memory(folder, banks):
    """The replay memory of the default ``dqn`` of a ULX3S, with ``banks``, and how many launches it
    makes: a function."""
    path = folder / "kernel.json"
    path.write_text(DESIGN.describe(CONFIG).to_json())
    with open_card("model", banks=banks) as card:
        buffer = LearningReplay(card.load(path), capacity=CONFIG.replay.capacity, seed=3)
        yield buffer, lambda: buffer.launcher.launches


def steps(count):
    return hyperparameter_records(
        count, scale=1 / 32, rate=0.004, floor=1e-5, second_decay=0.99, beta=0.5, blend=0.5
    )


def trained(buffer):
    buffer.initialize(weights(CONFIG))
    buffer.add(**experiences(CONFIG, 2048))
    buffer.learn(steps(3), batch_size=32)


def test_all_that_a_card_holds_passes_through_a_small_bank(tmp_path):
    """Parameters set by set, priorities in parts, there and back, as through a large bank."""
    states, counts = [], []
    for banks in (LARGE, OWN):
        with memory(tmp_path, banks) as (buffer, launches):
            trained(buffer)
            before = launches()
            states.append(buffer.state_dict())
            counts.append(launches() - before)
            sets = buffer.store()
            some = {
                name: [{each: layer[each] for each in ("online", "second")} for layer in layers]
                for name, layers in sets.items()
            }
            equal(buffer.store(("second", "online")), some)
    for name, value in states[0].items():
        assert np.array_equal(value, states[1][name]), name
    assert counts == [2, len(PARAMETER_SETS) + 2]  # priorities by halves
    # A resumed run goes on as the one that was not interrupted.
    again = []
    for banks in (LARGE, OWN):
        with memory(tmp_path, banks) as (buffer, launches):
            buffer.load_state_dict(states[0])
            buffer.learn(steps(2), batch_size=32)
            again.append(buffer.state_dict())
    for name, value in again[0].items():
        assert np.array_equal(value, again[1][name]), name
    assert not np.array_equal(again[0]["parameters"], states[0]["parameters"])


def test_a_bank_without_room_for_one_set(tmp_path):
    """Nothing is launched then."""
    banks = (Bank("BRAM[0]", 16 << 10), OWN[1])
    with memory(tmp_path, banks) as (buffer, launches):
        before = launches()
        with pytest.raises(CapacityError, match=r"at most 0 bytes for program \(bank BRAM\[0\] of"):
            buffer.initialize(weights(CONFIG))
        assert launches() == before
