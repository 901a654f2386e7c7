"""What the whole kernel says it takes is what yosys maps it to, unit by unit."""

import pytest
from amaranth.lib import wiring

from bench.area import mapped, whole_of
from bench.area_kernels import PARTS
from hw.estimate import RESOURCES
from hw.gae.config import GaeConfig, GaeKernelConfig
from hw.gae.estimate import estimate, parts, pe
from hw.shell.axi import EngineConfig


def kernel(rows, lookahead, code_width, result_width, data_width, depth=1024, ultra_ram=True):
    return GaeKernelConfig(
        gae=GaeConfig(
            rows=rows,
            depth=depth,
            lookahead=lookahead,
            code_width=code_width,
            result_width=result_width,
            ultra_ram=ultra_ram,
        ),
        engine=EngineConfig(data_width=data_width, burst_beats=8192 // data_width),
    )


#: Kernels from which the estimate was made, and LUT, FF, RAMB36, URAM, DSP that yosys mapped.
FITTED = {
    "HEPPO": (kernel(64, 2, 8, 8, 512), (53087, 57141, 47, 0, 354)),
    "largest": (kernel(256, 2, 8, 8, 512), (148487, 189339, 143, 0, 1314)),
    "narrow": (kernel(256, 1, 8, 32, 128), (140181, 162740, 474, 0, 1034)),
    "smallest": (kernel(1, 1, 8, 8, 128), (10559, 7322, 4.5, 0, 13)),
    "three": (kernel(64, 3, 8, 32, 128), (60980, 79836, 121.5, 0, 778)),
    "words": (kernel(8, 3, 32, 32, 512), (29747, 24364, 30, 0, 97)),
    "codes of 16": (kernel(32, 2, 16, 8, 512), (44867, 42676, 45.5, 0, 290)),
}
#: The same of kernels from which no number of the estimate was made.
UNSEEN = {
    "48 rows": (kernel(48, 3, 32, 8, 128), (48276, 64052, 92, 0, 394)),
    "100 rows": (kernel(100, 2, 8, 16, 512), (76510, 85025, 109.5, 0, 533)),
    "128 rows": (kernel(128, 1, 16, 32, 512), (120450, 117704, 250, 0, 802)),
    "12 rows": (kernel(12, 2, 8, 32, 128), (17163, 15626, 26, 0, 70)),
    "24 rows, UltraRAM": (kernel(24, 2, 16, 16, 256, depth=4096), (32633, 31721, 8, 12, 210)),
    "5 rows": (kernel(5, 3, 8, 16, 128, depth=200, ultra_ram=False), (13968, 12281, 6.5, 0, 70)),
}
CASES = FITTED | UNSEEN
#: lookahead, code_width, result_width -> LUT, FF, DSP of a PE as yosys mapped it.
PES = {
    (1, 8, 8): (358, 523, 4),
    (1, 8, 16): (379, 554, 4),
    (1, 8, 32): (320, 578, 4),
    (1, 16, 8): (533, 680, 6),
    (1, 16, 16): (555, 712, 6),
    (1, 16, 32): (592, 759, 6),
    (1, 32, 8): (384, 491, 4),
    (1, 32, 16): (405, 523, 4),
    (1, 32, 32): (442, 570, 4),
    (2, 8, 8): (433, 657, 5),
    (2, 8, 16): (454, 688, 5),
    (2, 8, 32): (396, 712, 5),
    (2, 16, 8): (638, 858, 8),
    (2, 16, 16): (659, 890, 8),
    (2, 16, 32): (689, 937, 8),
    (2, 32, 8): (486, 672, 6),
    (2, 32, 16): (506, 704, 6),
    (2, 32, 32): (546, 751, 6),
    (3, 8, 8): (646, 1056, 12),
    (3, 8, 16): (670, 1087, 12),
    (3, 8, 32): (609, 1111, 12),
    (3, 16, 8): (855, 1428, 12),
    (3, 16, 16): (876, 1460, 12),
    (3, 16, 32): (915, 1507, 12),
    (3, 32, 8): (650, 1085, 8),
    (3, 32, 16): (670, 1117, 8),
    (3, 32, 32): (710, 1164, 8),
}


def check(config, found):
    """``found``: of the whole kernel."""
    whole = estimate(config)
    assert whole.lut == pytest.approx(found["lut"], rel=0.02)
    assert whole.ff == pytest.approx(found["ff"], rel=0.01)
    assert whole.bram36 == pytest.approx(found["bram36"], rel=0.07, abs=4)
    assert whole.uram == found["uram"]
    assert whole.dsp == found["dsp"]


@pytest.mark.parametrize("name", CASES)
def test_as_yosys_mapped_it(name):
    """Taken down once."""
    config, mapping = CASES[name]
    check(config, dict(zip(RESOURCES, mapping, strict=True)))


@pytest.mark.parametrize("sizes", PES)
def test_pes_as_yosys_mapped_them(sizes):
    """Taken down once, of all widths and lookaheads."""
    lookahead, code_width, result_width = sizes
    config = GaeConfig(lookahead=lookahead, code_width=code_width, result_width=result_width)
    lut, ff, dsp = PES[sizes]
    need = pe(config)
    assert need.lut == pytest.approx(lut, rel=0.03)
    assert need.ff == pytest.approx(ff, rel=0.01)
    assert need.dsp == dsp


def test_no_component_is_made(monkeypatch):
    """An estimate is for searches: none of the units is built for it."""

    def refuse(self, *args):
        raise AssertionError(f"{type(self).__name__} must not be made")

    monkeypatch.setattr(wiring.Component, "__init__", refuse)
    assert None not in estimate(kernel(17, 2, 16, 32, 256)).resources.values()


@pytest.mark.long
@pytest.mark.parametrize("name", CASES)
def test_kinds_of_modules(name):
    """Lookup tables within a tenth, or, of what is small, a hundredth of the kernel; registers
    within a fiftieth, or twenty. Minutes each."""
    config, _ = CASES[name]
    found, whole = mapped("gae", config, PARTS["gae"], "engines"), estimate(config)
    assert set(found) == set(parts(config))
    for kind, need in parts(config).items():
        mapping = found[kind]
        assert need.lut == pytest.approx(mapping["lut"], rel=0.1, abs=0.01 * whole.lut), kind
        assert need.ff == pytest.approx(mapping["ff"], rel=0.02, abs=20), kind
        assert (need.dsp or 0) == pytest.approx(mapping["dsp"], abs=1), kind
    check(config, whole_of(found))
