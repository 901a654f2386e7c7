"""hw.fixar.pass_clocks against clocks of the RTL: taken down once, and measured anew."""

from itertools import pairwise

import pytest

from bench.fixar import passes
from hw.designs import DESIGNS
from hw.fixar.config import FixarConfig, FixarKernelConfig
from hw.fixar.pass_clocks import acting_cycles, iteration_cycles, iteration_units, pass_cycles
from hw.fixar.plan import Kind, plan
from hw.fixar.precision import Precision

FULL, ERRORS_FULL = Precision(), Precision(activations=True)
HALF = Precision(activations=True, errors=True)

#: Tiles of 4; more actions than lanes; no adam; one action, and fewer passes beside the TD errors;
#: as many actions as lanes (survivor 11); two and four words of weights a clock.
CONFIGS = {
    "two_cores": dict(observation=3, action=2, hidden=(40, 24), batch=64, cores=2, side=4),
    "one_core": dict(observation=6, action=10, hidden=(20, 36), batch=200, cores=1, side=8),
    "sgd": dict(observation=3, action=2, hidden=(17,), batch=40, cores=1, side=4, optimizer="sgd"),
    "narrow": dict(
        observation=3, action=1, hidden=(4,), batch=100, cores=3, side=4, optimizer="rmsprop"
    ),
    "two_words": dict(
        observation=3, action=2, hidden=(40, 24), batch=64, cores=2, side=4, port_words=2
    ),
    "four_words": dict(observation=3, action=2, hidden=(20,), batch=16, cores=1, port_words=4),
    "even": dict(observation=4, action=4, hidden=(16,), batch=40, cores=1, side=4),
}
#: (config, batch, precision) -> clocks of each pass, and of ``bench.fixar.passes`` as a whole.
PASSES = [
    ("two_cores", 1, FULL, 4522,
     [117, 273, 67, 117, 273, 52, 117, 273, 52, 117, 273, 67, 56, 81, 272, 302, 146, 117, 273,
      52, 56, 272, 81, 56, 81, 272, 302, 146]),
    ("two_cores", 27, HALF, 7302,
     [171, 451, 94, 171, 451, 73, 171, 451, 73, 171, 451, 94, 77, 106, 455, 548, 236, 171, 451,
      73, 77, 455, 120, 77, 106, 455, 548, 236]),
    ("two_cores", 64, ERRORS_FULL, 18044,
     [351, 991, 157, 351, 991, 127, 351, 991, 127, 351, 991, 157, 227, 156, 1955, 1040, 416,
      351, 991, 127, 227, 1955, 395, 227, 156, 1955, 1040, 416]),
    ("one_core", 3, FULL, 3579,
     [80, 154, 149, 80, 154, 70, 80, 154, 70, 80, 154, 149, 78, 104, 158, 188, 114, 80, 154, 70,
      78, 158, 119, 118, 145, 158, 188, 114]),
    ("one_core", 9, HALF, 3767,
     [82, 156, 181, 82, 156, 72, 82, 156, 72, 82, 156, 181, 80, 104, 160, 188, 114, 82, 156, 72,
      80, 160, 151, 120, 145, 160, 188, 114]),
    ("one_core", 17, ERRORS_FULL, 5436,
     [89, 170, 259, 89, 170, 80, 89, 170, 80, 89, 170, 259, 128, 145, 298, 313, 165, 89, 170,
      80, 128, 298, 385, 213, 227, 298, 313, 165]),
    ("sgd", 40, FULL, 6218,
     [431, 285, 431, 231, 431, 231, 431, 285, 235, 257, 497, 431, 231, 235, 283, 235, 257, 497]),
    ("narrow", 13, HALF, 1005,
     [34, 50, 34, 34, 34, 34, 34, 50, 38, 62, 62, 34, 34, 38, 48, 38, 62, 62]),
    ("narrow", 100, FULL, 2448,
     [65, 112, 65, 65, 65, 65, 65, 112, 69, 102, 102, 65, 65, 69, 110, 69, 102, 102]),
    ("narrow", 100, HALF, 2178,
     [48, 78, 48, 48, 48, 48, 48, 78, 52, 94, 94, 48, 48, 52, 76, 52, 94, 94]),
    ("two_words", 1, FULL, 3822,
     [89, 209, 62, 89, 209, 47, 89, 209, 47, 89, 209, 62, 49, 81, 211, 302, 146, 89, 209, 47, 49,
      211, 70, 49, 81, 211, 302, 146]),
    ("two_words", 11, ERRORS_FULL, 4549,
     [91, 211, 66, 91, 211, 49, 91, 211, 49, 91, 211, 66, 69, 81, 393, 302, 146, 91, 211, 49, 69,
      393, 107, 69, 81, 393, 302, 146]),
    ("two_words", 27, HALF, 7288,
     [171, 451, 94, 171, 451, 73, 171, 451, 73, 171, 451, 94, 75, 106, 453, 548, 236, 171, 451, 73,
      75, 453, 118, 75, 106, 453, 548, 236]),
    ("four_words", 1, FULL, 1290,
     [49, 63, 49, 48, 49, 48, 49, 63, 52, 112, 113, 49, 48, 52, 61, 52, 112, 113]),
    ("four_words", 11, ERRORS_FULL, 1545,
     [55, 75, 55, 55, 55, 55, 55, 75, 69, 120, 136, 55, 55, 69, 88, 69, 120, 136]),
    ("four_words", 11, HALF, 1500,
     [55, 75, 55, 55, 55, 55, 55, 75, 59, 120, 136, 55, 55, 59, 73, 59, 120, 136]),
    ("even", 5, FULL, 1472,
     [71, 80, 71, 51, 71, 51, 71, 80, 55, 89, 127, 71, 51, 55, 78, 55, 89, 127]),
    ("even", 40, HALF, 3240,
     [191, 185, 191, 111, 191, 111, 191, 185, 115, 140, 235, 191, 111, 115, 183, 115, 140, 235]),
]  # fmt: skip
#: Of whole kernels on card sim: clocks of an iteration behind the first, ``cycles`` of its REPORT.
CHEETAH = dict(observation=17, action=6, hidden=(400, 300), batch=512)
ITERATIONS = [
    (CONFIGS["two_cores"], 1, FULL, 4_523),
    (CONFIGS["two_cores"], 64, FULL, 27_845),
    (CONFIGS["two_cores"], 64, ERRORS_FULL, 18_045),
    (CONFIGS["two_cores"], 64, HALF, 14_701),
    (CHEETAH, 64, FULL, 173_237),
    (CHEETAH, 128, FULL, 344_745),
    (CHEETAH, 256, FULL, 687_761),
    (CHEETAH, 64, HALF, 88_077),
]


def config_of(name):
    return FixarConfig(**CONFIGS[name])


def clocks_of(config, batch, precision):
    return [pass_cycles(config, each, batch, precision) for each in plan(config)]


@pytest.mark.parametrize("name, batch, precision, whole, clocks", PASSES)
def test_passes_as_taken_down(name, batch, precision, whole, clocks):
    config = config_of(name)
    assert clocks_of(config, batch, precision) == clocks
    assert 0 <= iteration_cycles(config, batch, precision) - whole <= 2


@pytest.mark.parametrize("sizes, batch, precision, clocks", ITERATIONS)
def test_iterations_as_taken_down(sizes, batch, precision, clocks):
    assert iteration_cycles(FixarConfig(**sizes), batch, precision) == clocks


def test_the_design_has_them():
    """Of the batch that a kernel is made for, in every precision; an ACT by the passes' clocks."""
    config = FixarKernelConfig(learner=FixarConfig(**CHEETAH | dict(batch=64)))
    full, half, both, act = DESIGNS["fixar"].clocks(config).values()
    assert (full, both) == (173_237, 88_077)
    assert half == iteration_cycles(config.learner, 64, ERRORS_FULL)
    assert act == acting_cycles(config.learner, 1, FULL)


def test_the_formulas_of_large_layers():
    """Of 400-300, in tiles of 16, but for what fills and empties the units."""
    config = FixarConfig(**CHEETAH)
    each = next(p for p in plan(config) if p.layer.inputs == 400)
    backward = {
        kind: next(p for p in plan(config) if (p.layer, p.kind) == (each.layer, kind))
        for kind in (Kind.DX, Kind.DW)
    }
    for batch, precision, samples in ((512, FULL, 256), (512, HALF, 128), (20, FULL, 10)):
        tiles = max(samples, 16)
        passes = {
            each: 19 * (max(samples, 17) + 24 * tiles),
            backward[Kind.DX]: 19 * 25 * tiles,
            backward[Kind.DW]: 19 * -(-samples // 16) * (16 * 25 + 1),
        }
        for pass_, clocks in passes.items():
            assert 0 < pass_cycles(config, pass_, batch, precision) - clocks < 96


@pytest.mark.long
@pytest.mark.parametrize("name", CONFIGS)
def test_passes_of_the_rtl(name):
    """Every batch around the tile's rows, in all precisions; each pass to the clock."""
    config = config_of(name)
    unit, count = passes.unit(config), len(plan(config))
    around = {1, 2, config.batch - 1, config.batch}
    for groups in (1, 2):  # of tiles of samples
        edge = groups * config.cores * config.side
        around |= {edge - 1, edge, edge + 1, 2 * edge}
    for batch in sorted(b for b in around if b <= config.batch):
        for precision in (FULL, ERRORS_FULL, HALF):
            found = passes.measure(unit, config, count, batch=batch, precision=precision)
            assert list(found.passes) == clocks_of(config, batch, precision)
            worked = iteration_cycles(config, batch, precision)
            assert abs(worked - found.whole) <= 2


@pytest.mark.parametrize("name", CONFIGS)
@pytest.mark.parametrize("precision", [FULL, HALF])
def test_units_of_an_iteration(name, precision):
    """Passes follow the batch and each other; the TD errors run beside them, and the critic's first
    gradients wait for both."""
    config = FixarConfig(**CONFIGS[name])
    units = iteration_units(config, config.batch, precision)
    errors, intake = units.pop("TD errors"), units.pop("batch into cells")
    passes = sorted(span for spans in units.values() for span in spans)
    wanted = [pass_cycles(config, each, config.batch, precision) for each in plan(config)]
    assert [end - begin for begin, end in passes] == wanted
    assert intake[0][0] == 0 and passes[0][0] == intake[0][1] + 5
    pauses = [begin - end for (_, end), (begin, _) in pairwise(passes)]
    last = len(config.hidden)
    decided = units[f"critic {last} DX"][0][0]
    assert decided == max(errors[0][1], max(end for _, end in passes if end < decided) + 5)
    following = zip(pauses, passes[1:], strict=False)
    assert all(pause == 5 for pause, (begin, _) in following if begin != decided)
    assert errors[0][0] == units[f"critic {last} FW"][1][1] + 5
    assert passes[-1][1] + 4 == iteration_cycles(config, config.batch, precision)


def test_the_schedule_of_the_default():
    config = DESIGNS["fixar"].config_type()
    text = DESIGNS["fixar"].schedule(config)
    clocks = iteration_cycles(config.learner, config.learner.batch, FULL)
    assert f" takes {clocks} clocks. " in text.split("\n")[0] and "\nTD errors " in text
