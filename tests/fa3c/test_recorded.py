"""Random rounds recorded on ``model`` and on ``sim``: the same bytes from every launch."""

import numpy as np
import pytest
from fa3c.modelled import CLOCKS
from fa3c.player import Player
from fa3c.rounds import parameters_of
from fa3c.test_kernel import SMALL, WIDE
from programs import masked
from recorder import Recorder, assert_same_launches
from replay.kernels import opened

from host.a3c.card_network import ActorCritic
from hw.fa3c.records import A3C_STATUS


def record(card, config, rounds):
    """Launches, and what is left of theta and g."""
    with opened(card, config) as kernel:
        recorder = Recorder(kernel, lambda block: masked(block, A3C_STATUS, CLOCKS))
        network = ActorCritic(recorder)
        network.load(parameters_of(config))
        player = Player(network, seed=5)
        for _ in range(rounds):
            player.round()
        assert network.status["rounds"] == rounds and network.status["tasks"] == player.played
        return recorder.launches, network.state_dict()


@pytest.mark.parametrize(
    "config, rounds",
    [
        pytest.param(SMALL, 12, id="small"),
        pytest.param(WIDE, 1000, id="wide", marks=pytest.mark.long),
    ],
)
def test_every_round_gives_the_same_bytes(config, rounds):
    """The kernel of the quick tests is compiled for others too."""
    (sim, sim_state), (model, model_state) = (
        record(card, config, rounds) for card in ("sim", "model")
    )
    assert_same_launches(sim, model)
    assert len({launch["results"] for launch in model}) > 0.7 * rounds
    for name in ("theta", "squares"):
        np.testing.assert_array_equal(sim_state[name], model_state[name])
        assert np.isfinite(model_state[name].view(np.float32)).all()
