"""hw.shell.arbiter: turns, and who may have one."""

import pytest
from marks import long_but

from hw.shell.arbiter import Arbiter
from hw.shell.interconnect import InterconnectConfig

CONFIGS = {
    "three": dict(data_width=32, ports=3, depth=(40, 40, 48), burst_beats=4, tokens=3),
    "two": dict(data_width=512, ports=2, depth=64, burst_beats=16, tokens=1),
    "one": dict(data_width=32, ports=1, depth=40, burst_beats=1, tokens=2),
}


@pytest.mark.parametrize("kind", ["reads", "writes"])
@pytest.mark.parametrize("name", long_but(["three", "one"], CONFIGS))
def test_arbiter(simulate, name, kind):
    """With credits from the start and no tokens; with none and tokens."""
    config = InterconnectConfig(**CONFIGS[name])
    ports = range(config.ports)
    arbiter = {
        "reads": Arbiter(config, [config.port(port).depth for port in ports]),
        "writes": Arbiter(config, [0 for port in ports], config.tokens),
    }[kind]
    simulate(arbiter, "shell.arbiter_bench", kind=kind, config=CONFIGS[name], seed=1)
