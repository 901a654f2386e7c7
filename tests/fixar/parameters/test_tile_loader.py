"""tile_loader: tiles of all layers against the matrices that the image was packed from."""

import json

import numpy as np
import pytest
from fixar.parameters.cases import hexadecimal, learner, random_parameters, words_of
from fixar.parameters.tiles import Tiles

from hw.fixar.parameters.tile_loader import TileLoader


@pytest.mark.parametrize(
    "side, port_words",
    [(4, 1), (4, 2), *(pytest.param(16, port, marks=pytest.mark.long) for port in (1, 2, 4))],
)
def test_tiles(simulate, tmp_path, side, port_words):
    config, rng = learner(side, port_words=port_words), np.random.default_rng(side)
    parameters = random_parameters(config, rng)
    cases = {}
    for name, fixed in {
        "mixed": {},
        "straight": dict(transposed=0),
        "transposed": dict(transposed=1, bias=0),
    }.items():
        cases[name] = tiles = Tiles(config, parameters)
        tiles.add_all(rng, **fixed)
        if name == "mixed":
            assert {tile["low"] for tile in tiles.tiles} > {0}
            assert len({(tile["transposed"], tile["bias"]) for tile in tiles.tiles}) == 4
    file = tmp_path / "vectors.json"
    file.write_text(
        json.dumps(
            dict(
                memories={
                    name: hexadecimal(words_of(config, parameters, name))
                    for name in ("online", "target")
                },
                cases={name: tiles.texts() for name, tiles in cases.items()},
            )
        )
    )
    simulate(
        TileLoader(config),
        "fixar.parameters.tile_loader_bench",
        vectors=str(file),
        learner=dict(side=side, port_words=port_words),
    )
