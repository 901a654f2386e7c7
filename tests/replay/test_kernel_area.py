"""What the whole kernel says it takes is what yosys maps it to, unit by unit."""

import pytest
from replay.test_estimate import UNSEEN

from bench.area import mapped, whole_of
from hw.replay.config import ReplayKernelConfig
from hw.replay.estimate import estimate, parts

#: Module, by its path in the kernel -> the part of the estimate that it is; the ports' multiplexers
#: at the top count as engines.
_PARTS = {
    r"core\.manager\.level_\d+": "tree",
    r"core\.manager\.table": "table",
    r"core\.manager\.draw": "draw",
    r"core\.manager": "manager",
    r"core\.items": "items",
    r"core\.gather": "gather",
    r"core\.insert": "insert",
    r"core\.dispatcher": "commands",
    r"core": "core",
    r"control": "control",
    r"sequencer": "sequencer",
}
CONFIGS = {"default": ReplayKernelConfig()} | {name: config for name, (config, _) in UNSEEN.items()}


@pytest.mark.long
@pytest.mark.parametrize("name", CONFIGS)
def test_kinds_of_modules(name):
    """Lookup tables within a fifteenth, or, of what is small, a hundredth of the kernel; registers
    within a fiftieth, or twenty. Minutes each."""
    config = CONFIGS[name]
    found, whole = mapped("replay", config, _PARTS, "engines"), estimate(config)
    assert set(found) == set(parts(config))
    for kind, need in parts(config).items():
        mapping = found[kind]
        assert need.lut == pytest.approx(mapping["lut"], rel=0.07, abs=0.01 * whole.lut), kind
        assert need.ff == pytest.approx(mapping["ff"], rel=0.02, abs=20), kind
        assert (need.dsp or 0) == mapping["dsp"], kind
        assert (need.uram or 0) == pytest.approx(mapping["uram"], rel=0.02, abs=1), kind
    total = whole_of(found)
    assert whole.lut == pytest.approx(total["lut"], rel=0.05)
    assert whole.ff == pytest.approx(total["ff"], rel=0.01)
    assert whole.uram == pytest.approx(total["uram"], rel=0.01, abs=1)
    assert whole.bram36 == pytest.approx(total["bram36"], rel=0.07, abs=4)
