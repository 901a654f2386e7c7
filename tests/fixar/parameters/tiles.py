"""Tiles that are asked for, and what has to come of them."""

import numpy as np
from fixar.parameters.cases import layers
from packed import packed

from hw.fixar.layouts import operands_layout, rows_layout
from hw.fixar.parameters.layouts import tile_request_layout
from sim.model.fixar.numbers import operands

__all__ = ["Tiles"]


class Tiles:
    """Tiles of ``parameters``, what is asked for and what has to come."""

    def __init__(self, config, parameters):
        self.config, self.parameters = config, parameters
        self.tiles, self.rows, self.biases = [], [], []

    def add(self, layer, frame, column, row, *, target, transposed, bias):
        """``frame`` [features, outputs], and a row of biases; ``row``: a feature of the frame."""
        config, side = self.config, self.config.side
        base = layer.base + column * layer.stride
        modulus = 1 << (config.weight_words - 1).bit_length()
        self.tiles.append(
            dict(
                target=target,
                transposed=transposed,
                address=(base + layer.lead + row - layer.first) % modulus,
                low=min(side, max(0, layer.first - row)),
                high=min(side, layer.frame - row),
                bias=bias,
                bias_address=base + layer.lead + layer.inputs,
            )
        )
        padded = np.zeros((layer.input_tiles * side + 1, layer.output_tiles * side))
        padded[: len(frame) - 1, : layer.outputs] = frame[:-1]
        padded[-1, : layer.outputs] = frame[-1]
        columns = slice(column * side, (column + 1) * side)
        tile = padded[row : row + side, columns]
        if bias:
            self.biases.append((len(self.rows), padded[-1, columns]))
        bands = (tile.T if transposed else tile).reshape(-1, config.port_words, side)
        self.rows += enumerate(bands)

    def add_all(self, rng, **fixed):
        """Every tile of every layer."""
        for name, position, layer in layers(self.config):
            for column in range(layer.output_tiles):
                for tile in range(layer.input_tiles):
                    choice = dict(
                        zip(("target", "transposed", "bias"), rng.integers(2, size=3), strict=True)
                    )
                    choice |= fixed
                    values = self.parameters[name][position][
                        "target" if choice["target"] else "online"
                    ]
                    weights, biases = (operands(self.config.arithmetic, part) for part in values)
                    frame = np.zeros((layer.frame + 1, layer.outputs))
                    # As images have them: of a critic's, the actions come first.
                    frame[layer.first : -1] = np.roll(weights, layer.last, axis=1).T
                    frame[-1] = biases
                    row = tile * self.config.side
                    self.add(layer, frame, column, row, **choice)

    def texts(self):
        config = self.config
        tile, row, word = tile_request_layout(config), rows_layout(config), operands_layout(config)
        return dict(
            tiles=[f"{packed(tile, each)[0]:x}" for each in self.tiles],
            rows=[f"{packed(row, dict(band=k, words=each))[0]:x}" for k, each in self.rows],
            biases=[(before, f"{packed(word, each)[0]:x}") for before, each in self.biases],
        )
