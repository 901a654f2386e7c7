"""hw.fa3c.config: layers by hand, and every rule by name."""

from math import prod

import pytest

from hw.fa3c.config import Fa3cConfig
from hw.fa3c.plan import forward_passes, training_passes
from hw.shell.axi import EngineConfig

DENSE = dict(height=1, width=1, convolutions=(), hidden=())


def test_the_network_of_the_paper():
    """FA3C, Table 1; rows of 16 words, screens of 64 bytes, groups filled up to patches."""
    config = Fa3cConfig()
    conv1, conv2, fc3, fc4 = config.layers
    assert (conv1.out_height, conv1.out_width, conv1.out_channels) == (20, 20, 16)
    assert (conv2.out_height, conv2.out_width, conv2.out_channels) == (9, 9, 32)
    assert (fc3.in_channels, fc3.filters, fc4.out_channels) == (2592, 256, 32)
    assert [layer.depth for layer in config.layers] == [256, 256, 2592, 256]
    assert config.map_rows == (84 * 6, 20 * 20, 9 * 9 * 2, 16, 2)
    assert config.theta_rows == 272 + 2 * 272 + 16 * 2608 + 2 * 272
    assert config.feature_rows == 5 * (504 + 400 + 162 + 16 + 2)
    # FA3C 3.2: products of an inference.
    assert sum(layer.products for layer in config.layers) == 2_973_696


def test_pixels_that_no_tap_reaches_are_not_computed():
    """A 4x4/3 on 12 columns reaches 10 of them, so the 3x3/1 before it computes 10 of its 11."""
    config = Fa3cConfig(height=12, width=13, convolutions=((16, 3, 1), (16, 4, 3)), hidden=())
    first, second, _ = config.layers
    assert (second.out_height, second.out_width) == (3, 3)
    assert (first.out_height, first.out_width) == (10, 10) == (second.in_height, second.in_width)
    assert (first.in_height, first.in_width) == (12, 12)


def test_sizes_that_are_filled_up():
    """Channels to the lanes, filters to 16, inputs of a fully connected layer to whole rows."""
    config = Fa3cConfig(height=3, width=3, channels=3, lanes=4, convolutions=((5, 2, 1),))
    assert (config.layers[0].in_channels, config.layers[0].out_channels) == (4, 16)
    assert Fa3cConfig(lanes=8).in_channels == Fa3cConfig(lanes=16).in_channels == 4
    assert Fa3cConfig(lanes=8, channels=3).in_channels == 4
    for kernel, stride, lanes, held in ((4, 2, 8, 4), (4, 2, 4, 4), (3, 2, 4, 4), (4, 2, 2, 3)):
        few = dict(height=12, width=12, channels=3, convolutions=((5, kernel, stride),))
        config = Fa3cConfig(lanes=lanes, **few)
        assert config.in_channels == held
        assert held * kernel % lanes == held * stride % lanes == 0
    bytes_, words = (Fa3cConfig(**DENSE, channels=21, binary32=kind) for kind in (False, True))
    assert Fa3cConfig(**DENSE | dict(width=5), channels=3).layers[0].in_channels == 64
    assert Fa3cConfig(**DENSE | dict(width=6), channels=11).layers[0].in_channels == 128
    assert (bytes_.layers[0].in_channels, words.layers[0].in_channels) == (64, 32)


def test_the_longest_request():
    """theta, or the observations of a batch: what an INFER asks for at once, 80 lines of 5 rows
    each."""
    assert Fa3cConfig().request_rows == Fa3cConfig().theta_rows
    few = dict(convolutions=((16, 16, 16),), hidden=(), outputs=2, parameter_rows=2048)
    config = Fa3cConfig(**few, batch=8)
    assert config.map_rows[0] == 80 * 5 and config.theta_rows == 1040 + 416
    assert config.request_rows == 8 * 400


@pytest.mark.parametrize("samples", [1, 5])
def test_passes_make_every_product_once(samples):
    """Slots of all sweeps, of PEs side by side; GC has a slot more for the bias."""
    config = Fa3cConfig()
    for p in forward_passes(config) + training_passes(config):
        if p.taps or p.last_slots:
            continue  # the walk of tests/fa3c/plan_walk.py has those
        slots = prod(count or samples for count in p.words.counts)
        layer = config.layers[p.layer]
        assert slots * 64 == samples * layer.products


def test_json():
    config = Fa3cConfig(convolutions=((16, 8, 4),), units=("any",))
    assert Fa3cConfig.from_json(config.to_json()) == config
    assert Fa3cConfig.from_json(config.to_json()).hash64 == config.hash64


@pytest.mark.parametrize(
    "changes, message",
    [
        (dict(convolutions=((16, 8, 4),) * 5), "convolutions must be at most 4"),
        (
            dict(convolutions=((16, 8),)),
            r"^convolutions must be \(filters, kernel, stride\) each, as a text 16:8:4,32:4:2, not "
            r"\(16, 8\)$",
        ),
        (dict(convolutions=3), "convolutions must be a tuple, not 3"),
        (dict(convolutions=((0, 8, 4),)), "filters must be an integer in 1..512, not 0"),
        (dict(steps=33), "steps must be an integer in 1..32, not 33"),
        (dict(convolutions=((16, 17, 4),)), "kernel must be an integer in 1..16, not 17"),
        (dict(convolutions=((16, 4, 5),)), "stride must be an integer in 1..4 .the kernel., not 5"),
        (dict(height=7), "layer 0 must have an output, not a kernel larger than its input"),
        (dict(hidden=(16,) * 3), "hidden must be at most 2 widths"),
        (dict(hidden=(0,)), "hidden must be an integer in 1..4096, not 0"),
        (dict(outputs=1), "outputs must be an integer in 2..512, not 1"),
        (dict(channels=0), "channels must be an integer in 1..1024, not 0"),
        (dict(binary32=1), "binary32 must be True or False, not 1"),
        (dict(lanes=3), "lanes must be 1, 2, 4, 8 or 16, not 3"),
        (dict(units=()), "units must be 1 to 8 roles"),
        (dict(units=("any",) * 9), "units must be 1 to 8 roles"),
        (dict(units=("infer", "play")), "units must be of infer, train, any, not 'play'"),
        (dict(units=("infer",)), "units must have one that can train"),
        (dict(batch=9), "batch must be an integer in 1..8, not 9"),
        (dict(agents=3), "agents must be an integer in 4..256 .no fewer than the batch., not 3"),
        (dict(layout="fw"), "layout must be tlu, alt1, alt2, not 'fw'"),
        (dict(global_masters=3), "global_masters must be an integer in 1..2, not 3"),
        (dict(local_masters=3), "local_masters must be 2, 4 or 8, not 3"),
        (dict(rms_units=3), "rms_units must be 1, 2, 4, 8 or 16, not 3"),
        (
            dict(width=200, convolutions=((16, 8, 4),)),
            "layer 0: output width must be an integer in 1..32, the slots of a PE, not 49",
        ),
        (
            dict(width=64, channels=64, convolutions=((16, 8, 4),)),
            "layer 0: rows of an input line must be an integer in 1..32, not 64",
        ),
        (
            dict(width=36, convolutions=((16, 4, 1), (16, 3, 2))),
            "layer 0: output width must be an integer in 1..32",
        ),
        (
            dict(height=40, width=18, convolutions=((16, 3, 1), (48, 3, 1))),
            "layer 1: rows of an output line must be an integer in 1..32, not 42",
        ),
        (
            dict(parameter_rows=300),
            "layer 1: rows of parameters must be an integer in 1..300 .parameter_rows., not 544",
        ),
        (
            dict(DENSE, channels=100, lanes=2),
            "lanes must be at least 4 where bytes enter a fully connected layer, not 2",
        ),
        (
            dict(DENSE, height=1024, width=1024, lanes=4, engine=EngineConfig(data_width=128)),
            "rows of parameters must be an integer in 1..4194303, the beats of a request",
        ),
        # 32 lines of a row, 1024 of them: 32 steps of 256 agents take 2**24 blocks of 16 rows.
        (
            dict(
                height=1024,
                width=32,
                channels=16,
                binary32=True,
                convolutions=((16, 1, 1),),
                hidden=(),
                steps=32,
                agents=256,
            ),
            r"^local_bytes must be at most 4294963200 \(snapshots, and rollouts of agents x steps, "
            r"on each of 2 local_masters\), not 17314095104$",
        ),
    ],
)
def test_rules(changes, message):
    with pytest.raises(ValueError, match=message):
        Fa3cConfig(**changes)
