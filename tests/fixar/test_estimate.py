"""What the kernel ``fixar`` takes: as yosys maps it, by hand; what is said where it is too much."""

from dataclasses import replace

import pytest

import boards
from host.kernels import configure
from hw.designs import DESIGNS
from hw.estimate import exceeded, fits
from hw.fixar.config import FixarConfig, FixarKernelConfig
from hw.fixar.core import FixarCore
from hw.fixar.estimate import estimate, parts, suggest
from hw.replay.config import ReplayConfig
from hw.shell.axi import EngineConfig
from hw.verilog import to_verilog

PAPER = FixarKernelConfig()
#: Of the paper's kernel for the largest batch: blocks of 4096 words of 72 bits.
LARGE = FixarKernelConfig(learner=FixarConfig(batch=512))
THREE_CORES = FixarKernelConfig(
    replay=ReplayConfig(capacity=1 << 16, ultra_ram=False),
    learner=FixarConfig(
        observation=11, action=3, hidden=(64, 48), batch=128, cores=3, side=8, optimizer="sgd"
    ),
)
#: One core of 8 x 8 with the third rule of the optimizers.
SMALLER = FixarKernelConfig(
    learner=FixarConfig(hidden=(64, 64), cores=1, side=8, optimizer="rmsprop")
)
#: That of a board without larger blocks.
PENDULUM = FixarKernelConfig(
    replay=ReplayConfig(capacity=4096, ultra_ram=False),
    engine=EngineConfig(data_width=128, depth=16, burst_beats=8, bursts=4),
    learner=FixarConfig(observation=3, action=1, hidden=(32, 32), cores=1, side=4),
)


def learner(config, **changes):
    return replace(config, learner=replace(config.learner, **changes))


@pytest.mark.parametrize(
    "config, mapped",
    [
        (LARGE, dict(lut=178_327, ff=151_635, dsp=1275, bram36=409.5, uram=427)),
        (THREE_CORES, dict(lut=117_872, ff=100_716, dsp=507, bram36=282.5, uram=0)),
        (PENDULUM, dict(lut=59_990, ff=43_220, dsp=137, bram36=50, uram=0)),
    ],
)
def test_as_yosys_mapped_it(config, mapped):
    """Taken down once; ``test_kernel_area.py`` maps them."""
    near = dict(lut=0.05, ff=0.01, dsp=0, bram36=0.035, uram=0.065)
    for name, value in estimate(config).resources.items():
        assert value == pytest.approx(mapped[name], rel=near[name]), name


@pytest.mark.parametrize(
    "kind, lut, ff", [("arrays", 10_326, 288), ("cores", 2612, 2600), ("parameters", 11_209, 5682)]
)
def test_a_port_of_four_words_as_yosys_mapped_it(kind, lut, ff):
    """Of the large kernel, what the modules that differ have more than with one word."""
    four, one = parts(learner(LARGE, port_words=4))[kind], parts(LARGE)[kind]
    assert four.lut - one.lut == pytest.approx(lut, rel=0.06)
    assert four.ff - one.ff == pytest.approx(ff, rel=0.06, abs=0.011 * one.ff)


def test_counts_by_hand():
    """Two cores of 256 PEs; 16 optimizers; products of ACT, of TD errors, of the largest weight;
    of the replay memory; records of 12 granules and observations of 5 are no powers of two."""
    found, units = estimate(LARGE), parts(LARGE)
    assert units["arrays"].dsp == 2 * 2 * 256 and units["parameters"].dsp == 16 * 11 + 6
    assert found.dsp == 1024 + 2 * 10 + 182 + (2 + 10 + 5 + 2) + (24 + 6)
    # 92 words a sample of cells of 256 samples a core, 45 of errors, in halves of 256 bits.
    assert units["cells"].uram == 2 * 2 * 4 * (6 + 3)
    # 16 890 words of weights, of 512 bits; target and two moments.
    assert units["parameters"].uram == 3 * 8 * 5
    assert units["accumulators"].bram36 == 2 * 24
    # A core's samples are then no power of two: the place of a word is a product.
    odd = learner(LARGE, batch=500)
    assert estimate(odd).dsp == found.dsp + 2


def test_boards_without_larger_blocks_count_others():
    config = replace(LARGE, replay=replace(LARGE.replay, capacity=1 << 16, ultra_ram=False))
    found, deep = estimate(config), parts(LARGE)
    assert found.uram == 0
    # Words of 512 bits: 29 halves of 18 are the least for 16 890 of them; 4 for 256 bits of 11 520.
    assert found.bram36 > 4 * deep["parameters"].uram + 4 * deep["cells"].uram
    # Four sets of 17 x 29 halves, and the tables of 16 optimizers.
    assert parts(config)["parameters"].bram36 == 4 * 246.5 + 16


@pytest.mark.long
@pytest.mark.parametrize("ultra_ram", [False, True])
def test_larger_blocks_are_where_a_board_has_them(ultra_ram):
    """Cells of 82 and 41 words a sample, and weights: all deep. A tool for a part without
    UltraRAM may refuse a memory that is to be one."""
    learner = replace(PENDULUM.learner, hidden=(128, 32), optimizer="sgd")
    replay = replace(PENDULUM.replay, ultra_ram=ultra_ram)
    config = replace(PENDULUM, learner=learner, replay=replay)
    verilog = to_verilog(FixarCore(config).make_learner(), name="learner")
    # Halves of X and of E cells; targets and a moment.
    assert verilog.count('RAM_STYLE("ultra")') == (4 + 2) * ultra_ram
    assert bool(estimate(config).uram) == ultra_ram


def test_more_needs_more():
    base = estimate(PAPER)
    for changes, name in (
        (dict(cores=3), "dsp"),
        (dict(cores=3), "lut"),
        (dict(cores=3), "bram36"),
        (dict(hidden=(496, 496)), "uram"),
        (dict(batch=512), "uram"),
        (dict(batch=1024, cores=7), "uram"),
    ):
        assert getattr(estimate(learner(PAPER, **changes)), name) > getattr(base, name), changes
    for changes in (dict(side=8), dict(cores=1), dict(optimizer="sgd")):
        found = estimate(learner(PAPER, **changes))
        assert found.dsp < base.dsp and found.lut < base.lut, changes


@pytest.mark.parametrize(
    "board, sizes",
    [
        ("u50", dict(cores=2, side=16, hidden=(400, 300), observation=17, action=6)),
        ("u200", dict(cores=2, side=16, hidden=(400, 300), observation=17, action=6)),
        ("zcu106", dict(side=16, hidden=(64, 64))),
    ],
)
def test_defaults_fit(board, sizes):
    config = configure(DESIGNS["fixar"], boards.get(board), {})
    assert fits(estimate(config), boards.get(board).numbers)
    for name, value in sizes.items():
        assert getattr(config.learner, name) == value


@pytest.mark.parametrize(
    "board, values, message",
    [
        ("u50", {"cores": 7, "batch": 1024}, r"uram must be at most 486 .*; .*batch \d+ fits"),
        ("u50", {"cores": 7, "batch": 512, "port_words": 4}, r"uram must be .*; port_words 2 fits"),
        ("zcu106", {"hidden": (400, 300)}, r"bram36 must be at most .*; .*hidden \d+,\d+"),
        ("zcu106", {"cores": 3}, r"(dsp|lut) must be at most .*; cores 2 fits; side 8 fits"),
        ("ulx3s", {}, r"bram36 must be at most 19 on ULX3S-85F .*, not \d+ or more; nothing"),
    ],
)
def test_what_does_not_fit_is_named_with_what_would(board, values, message):
    with pytest.raises(boards.DoesNotFit, match=f"^({message})"):
        configure(DESIGNS["fixar"], boards.get(board), values)


def test_what_is_suggested_fits():
    """The largest that holds: the next larger one does not."""
    numbers = {"dsp": 1000, "lut": None}
    texts = suggest(PAPER, lambda other: fits(estimate(other), numbers))
    assert texts == ["cores 1", "side 8"]
    for changes in (dict(cores=1), dict(side=8)):
        assert fits(estimate(learner(PAPER, **changes)), numbers)
    assert [*exceeded(estimate(PAPER).resources, numbers)] == [("dsp", 1000, 1275)]
    assert suggest(PAPER, lambda other: False) == []


def test_several_changes_together():
    (text,) = suggest(PAPER, lambda other: fits(estimate(other), {"dsp": 130}))
    assert text.startswith("cores 1, side 4, batch ") and text.endswith("optimizer sgd")
    assert suggest(PAPER, lambda other: fits(estimate(other), {"dsp": 1})) == []
