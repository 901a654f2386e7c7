"""parameters: what is loaded leaves in tiles, is updated, leaves again, and is stored."""

import json

import numpy as np
import pytest
from fixar.parameters.cases import learner, parameters_of, random_parameters, words_of
from fixar.parameters.images import beats_of, image_of
from fixar.parameters.phases import SUM_WIDTH, Phase
from fixar.parameters.tiles import Tiles

from boards.area import synthesize
from hw.fixar.estimate import parameters
from hw.fixar.parameters.parameters import Parameters
from hw.learner.config import PARAMETER_SETS
from hw.verilog import to_verilog
from system.tools import BUILD_DIRECTORY


def tiles_of(config, rng, parameters):
    tiles = Tiles(config, parameters)
    tiles.add_all(rng)
    return tiles.texts()


@pytest.mark.parametrize(
    "side, data_width, options, gaps",
    [
        # Actions that are no multiple of the words side by side.
        (4, 256, dict(optimizer="rmsprop", port_words=2, action=3), [0, 0.5]),
        *(
            pytest.param(
                *(16, 512, dict(observation=3, action=1, hidden=(5,), optimizer="sgd"), [0.3]),
                marks=pytest.mark.long,
            ),
            pytest.param(
                *(16, 512, dict(observation=3, action=7, hidden=(5,), port_words=4), [0.3]),
                marks=pytest.mark.long,
            ),
        ),
    ],
    ids=["side 4", "side 16", "four words"],
)
def test_parameters(simulate, tmp_path, side, data_width, options, gaps):
    options = dict(side=side, **options)
    config, rng = learner(**options), np.random.default_rng(side)
    now = random_parameters(config, rng)
    vectors = dict(
        loaded=beats_of(image_of(config, now, PARAMETER_SETS), data_width),
        tiles=tiles_of(config, rng, now),
        phases=[],
    )
    memories = {name: words_of(config, now, name) for name in PARAMETER_SETS}
    for network in (0, 1):
        phase = Phase(config, rng, memories, network).texts()
        now = parameters_of(config, memories)
        phase["tiles"] = tiles_of(config, rng, now)
        vectors["hyperparameters"] = phase.pop("hyperparameters")
        del phase["expected"]
        vectors["phases"].append(phase)
    vectors["stored"] = beats_of(image_of(config, now, PARAMETER_SETS), data_width)
    assert vectors["stored"] != vectors["loaded"]
    file = tmp_path / "vectors.json"
    file.write_text(json.dumps(vectors))
    simulate(
        Parameters(config, SUM_WIDTH, data_width),
        "fixar.parameters.parameters_bench",
        vectors=str(file),
        learner=options,
        sum_width=SUM_WIDTH,
        data_width=data_width,
        gaps=gaps,
    )


@pytest.mark.long
@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_area(optimizer):
    """What yosys maps, within a tenth: it changes from version to version."""
    config = learner(4, optimizer=optimizer, hidden=(64,), cores=3)
    estimate, name = parameters(config, 128), f"parameters_{optimizer}"
    verilog = to_verilog(Parameters(config, SUM_WIDTH, 128), name=name)
    found = synthesize(
        verilog, name, work=BUILD_DIRECTORY / "area", family="xcup_dsp", flatten=False
    )
    for resource in ("dsp", "bram36", "uram"):
        assert found[resource] == getattr(estimate, resource), resource
    for resource in ("lut", "ff"):
        assert found[resource] == pytest.approx(getattr(estimate, resource), rel=0.1), resource


def test_paper_size():
    """HalfCheetah's networks, two cores of 16 x 16: within what is left for their parameters,
    a quarter of whose lookup tables join the blocks of memories."""
    estimate = parameters(learner(16, hidden=(400, 300), batch=512), 512)
    assert (estimate.dsp, estimate.uram, estimate.bram36) == (16 * 11 + 6, 120, 16 + 246.5)
    assert estimate.lut < 50_000


def test_memory_blocks():
    """Of HalfCheetah's networks 16 890 words, 512 bits: five blocks deep and eight wide, a set; of
    block RAM, 17 halves of 1024 words by 29 of 18 bits."""
    config = learner(16, hidden=(400, 300))
    assert blocks(config) == (120, 16 + 246.5)
    assert blocks(learner(16, hidden=(400, 300), optimizer="sgd")) == (80, 246.5)
    assert blocks(config, ultra_ram=False) == (0, 16 + 4 * 246.5)
    assert blocks(learner(4)) == (0, 4 + 8)


def blocks(config, **options):
    """Blocks of UltraRAM and of block RAM, with one for each optimizer's table."""
    found = parameters(config, 512, **options)
    return found.uram, found.bram36
