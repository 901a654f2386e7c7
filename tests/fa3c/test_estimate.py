"""What ``a3c`` needs of a board: counts against the Verilog and by hand, defaults, and hints."""

import re
from dataclasses import replace

import pytest
from fa3c.networks import NETWORKS
from fa3c.test_kernel import NARROW, SMALL, WIDE
from replay.kernels import generate

import boards
from host.kernels import configure
from hw.designs import DESIGNS
from hw.estimate import together
from hw.fa3c.config import Fa3cConfig
from hw.fa3c.estimate import estimate, parts
from hw.stream.ram import Ram, style_of

DESIGN = DESIGNS["a3c"]


def default(board, **changes):
    return replace(DESIGN.default(boards.get(board).numbers), **changes)


def rams(text):
    """``(width, depth, style)`` of every Ram in a Verilog text, where each stands once."""
    for parameters in re.findall(r"rlfabric_ram #\(\n(    \..*?)\n  \)", text, re.S):
        found = dict(re.findall(r"\.(\w+)\((?:32'd)?\"?(\w+)\"?\)", parameters))
        depth, style = int(found["DEPTH"]), found["RAM_STYLE"]
        yield int(found["WIDTH"]), depth, style_of(depth) if style == "auto" else style


@pytest.mark.parametrize(
    "config",
    [
        pytest.param(SMALL, id="small", marks=pytest.mark.long),
        pytest.param(NARROW, id="narrow", marks=pytest.mark.long),
        pytest.param(
            replace(NARROW, agents=65, tasks=65), id="many_agents", marks=pytest.mark.long
        ),
        pytest.param(WIDE, id="wide", marks=pytest.mark.long),
        pytest.param(default("ulx3s"), id="ulx3s", marks=pytest.mark.long),
        pytest.param(default("u200"), id="u200", marks=pytest.mark.long),
        pytest.param(default("zcu106", tasks=200), id="zcu106", marks=pytest.mark.long),
    ],
)
def test_blocks_are_those_of_the_verilog(config):
    verilog = (generate(config).parent / "a3c.v").read_text()
    blocks = together([Ram.estimate(*memory) for memory in rams(verilog)])
    found = estimate(config)
    tables = config.rms_units  # of their roots: no Ram
    assert (found.bram36, found.uram) == (blocks.bram36 + tables, blocks.uram)
    assert found.bram36


def test_multipliers_by_hand():
    """Two blocks a PE; an RU has five multipliers and a root of eight; addresses in rollouts and
    snapshots take five a unit. The rows of a task's screens take one a unit and one, but for small
    screens: their products have fewer than nine bits."""
    assert estimate(Fa3cConfig()).dsp == 4 * 64 * 2 + 8 * (5 * 2 + 8) + 4 * 6 + 1
    assert estimate(WIDE).dsp == 3 * 16 * 2 + 2 * 18 + 3 * 5


def test_rows_of_a_screen_follow_from_the_lanes():
    """Ten with one lane: times 32 samples a product of nine bits. Twelve with four: of eight."""
    config = Fa3cConfig(
        height=1, width=9, channels=17, convolutions=((1, 1, 1),), hidden=(), outputs=16,
        steps=32, agents=2, batch=2, tasks=2, units=("any",), rms_units=1, drain_words=1, lanes=4,
        binary32=True, parameter_rows=64,
    )  # fmt: skip
    assert (config.map_rows[0], replace(config, lanes=1).map_rows[0]) == (12, 10)
    assert estimate(config).dsp == 4 * 32 + 18 + 5
    assert estimate(replace(config, lanes=1)).dsp == 32 + 18 + 5 + 2


def test_units_by_hand():
    """DSP blocks as above; two queues of 45 056 rows; eight tables of roots; the patches of a
    transposed image are in lookup tables."""
    found = parts(Fa3cConfig())
    assert {name: part.dsp for name, part in found.items() if part.dsp} == {
        "units": 4 * (64 * 2 + 5), "rms": 8 * 18, "core": 4 + 1
    }  # fmt: skip
    assert (found["gradients"].uram, found["rms"].bram36, found["image"].lut) == (2 * 79, 8, 0)
    assert parts(Fa3cConfig(layout="alt2"))["image"].lut > 230


def test_says_what_would_fit():
    with pytest.raises(boards.DoesNotFit) as caught:
        configure(DESIGN, boards.get("zcu106"), {"units": ("infer", "train") * 2})
    assert re.search(
        r"; lanes 1 fits; units infer,train fits; rms_units 4 fits$", str(caught.value)
    )


@pytest.mark.parametrize("name", ["vectors", "wide vectors", "wide hidden", "eight lanes"])
def test_of_every_network(name):
    """Bytes that enter a fully connected layer need four lanes or more."""
    config = NETWORKS[name]
    found = estimate(config)
    assert min(found.lut, found.ff, found.bram36, found.dsp) > 0
    assert found.dsp > 2 * 16 * config.lanes * len(config.units)
