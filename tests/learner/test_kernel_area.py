"""What the whole kernel says it takes is what yosys maps it to, unit by unit."""

import pytest
from learner.test_estimate import MAPPED

from bench.area import mapped, whole_of
from bench.area_kernels import PARTS
from hw.learner.estimate import estimate, parts


@pytest.mark.long
@pytest.mark.parametrize("name", MAPPED)
def test_kinds_of_modules(name):
    """Lookup tables and registers within a tenth, or, of what is small, a fiftieth of the kernel;
    the whole within a twentieth. Some minutes each."""
    config, _ = MAPPED[name]
    found = mapped(config.learner.algorithm, config, PARTS[config.learner.algorithm], "engines")
    whole, total = estimate(config), whole_of(found)
    assert set(found) == set(parts(config))
    for kind, need in parts(config).items():
        for resource in ("lut", "ff"):
            near = pytest.approx(found[kind][resource], rel=0.1, abs=0.02 * total[resource])
            assert getattr(need, resource) == near, (kind, resource)
        assert (need.dsp or 0) == pytest.approx(found[kind]["dsp"], rel=0.01, abs=2), kind
    assert whole.lut == pytest.approx(total["lut"], rel=0.05)
    assert whole.ff == pytest.approx(total["ff"], rel=0.05)
    assert whole.dsp == pytest.approx(total["dsp"], rel=0.01, abs=2)
    assert whole.bram36 == pytest.approx(total["bram36"], rel=0.07, abs=4)
    assert whole.uram == pytest.approx(total["uram"], rel=0.02, abs=1)
    shell = sum(found[kind]["lut"] for kind in ("control", "sequencer", "engines"))
    assert total["lut"] - shell >= 20_000
