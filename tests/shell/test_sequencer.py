"""hw.shell.sequencer: programs of every length, errors of core and memory, launches refused."""

import pytest
from later import later

from hw.shell.sequencer import Sequencer


@pytest.mark.parametrize("data_width, status_bytes", [(128, 128), later(512, 64)])
def test_sequencer(simulate, data_width, status_bytes):
    case = dict(data_width=data_width, status_bytes=status_bytes, pointers=[2, 5, 4])
    case |= dict(config_hash=0xFEDC_BA98_7654_3210)
    simulate(Sequencer(**case), "shell.sequencer_bench", **case)
