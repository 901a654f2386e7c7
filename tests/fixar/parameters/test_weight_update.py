"""update: words of all sets after an update of each network, against the twin of the optimizers."""

import json

import numpy as np
import pytest
from fixar.parameters.cases import hexadecimal, learner, random_parameters, words_of
from fixar.parameters.phases import SUM_WIDTH, Phase
from pauses import SOLID

from hw.fixar.parameters.weight_update import WeightUpdate
from hw.learner.config import PARAMETER_SETS, stored_sets

#: side -> words that are updated.
WORDS = {4: 30, 16: 12}
#: side -> pauses between them.
GAPS = {4: [0, 0.4, SOLID], 16: [0.2]}


@pytest.mark.parametrize(
    "side, optimizer, cores",
    [
        (4, "adam", 2),
        pytest.param(4, "sgd", 1, marks=pytest.mark.long),
        pytest.param(4, "rmsprop", 3, marks=pytest.mark.long),
        pytest.param(16, "adam", 2, marks=pytest.mark.long),
    ],
)
def test_update(simulate, tmp_path, side, optimizer, cores):
    options = dict(side=side, optimizer=optimizer, cores=cores)
    config, rng = learner(**options), np.random.default_rng(side)
    parameters = random_parameters(config, rng)
    memories = {name: words_of(config, parameters, name) for name in PARAMETER_SETS}
    before = {name: hexadecimal(memories[name]) for name in stored_sets(config)}
    phases = [Phase(config, rng, memories, network, WORDS[side]).texts() for network in (0, 1)]
    for phase in phases:
        assert all(phase["counts"].values()), "nothing was clipped"
    file = tmp_path / "vectors.json"
    file.write_text(json.dumps(dict(memories=before, phases=phases)))
    simulate(
        WeightUpdate(config, SUM_WIDTH),
        "fixar.parameters.weight_update_bench",
        vectors=str(file),
        learner=options,
        sum_width=SUM_WIDTH,
        gaps=GAPS[side],
    )
