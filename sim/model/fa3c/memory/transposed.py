"""Bit-exact twin of the transposed image of theta: ``hw.fa3c.memory.transposed_image``."""

from hw.fa3c.rows import ROW

__all__ = ["transpose_layer", "transpose_theta"]


def transpose_theta(config, theta):
    """Makes the transposed image of ``theta``, [snapshot_rows, 16], in place, as a LOAD does: of
    all layers but the first, also of biases and padding. Does nothing if the config has none."""
    if config.transposed_rows:
        _transpose(config, theta, config.layers[0].rows, config.transposed_rows)


def transpose_layer(config, number, theta):
    """Makes the transposed image of the weights of layer ``number`` of ``theta``, [snapshot_rows,
    16], in place, as an UPDATE does. Does nothing for the first layer, or if the config has none.
    """
    if number and config.transposed_rows:
        layer, base = config.layers[number], config.parameter_bases[number]
        for group in range(layer.groups):
            _transpose(config, theta, base + group * layer.group_rows, layer.depth)


def _transpose(config, theta, row, count):
    patches = theta[row : row + count].reshape(-1, ROW, ROW)
    row += config.transposed_base
    theta[row : row + count] = patches.transpose(0, 2, 1).reshape(-1, ROW)
