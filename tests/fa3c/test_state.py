"""What a kernel ``a3c`` remembers of earlier commands, on the cards ``model`` and ``sim``:
numbers that are not finite, rollouts and snapshots of a theta that is replaced, clocks of the
last ROUND."""

import numpy as np
import pytest
from fa3c.kernel_programs import Rig, records
from fa3c.networks import theta
from fa3c.tasks import blank_task
from fa3c.test_kernel import SMALL
from programs import Builder, status_of
from replay.kernels import opened

from hw.fa3c.commands import COMMANDS, Opcode
from hw.fa3c.records import A3C_STATUS, Error

INFER, TRAIN, SYNC = range(3)
THETA, SQUARES = range(2)
#: Bits of 0.01, 0.9, 0.1 and 0.05.
CONSTANTS = dict(rate=0x3C23D70A, decay=0x3F666666, gain=0x3DCCCCCD, epsilon=0x3D4CCCCD)


class Kernel:
    """Launches of one command each; ``status``: the A3C status after the last launch."""

    def __init__(self, kernel):
        self.rig, self.rng = Rig(kernel, SMALL), np.random.default_rng(1)

    def _run(self, builder):
        self.rig.run(builder.launch())
        shell, own = status_of(self.rig.buffers["status"].view, A3C_STATUS)  # clocks and all
        self.status = own.copy()
        return Error(shell["error"])

    @property
    def overflow(self):
        return int(self.status["overflow"])

    def load(self, image, scale=0.3):
        builder = Builder(COMMANDS)
        rows = theta(SMALL, self.rng, scale)
        rows = np.abs(rows) if image else rows
        builder.raw(Opcode.LOAD, image=image, source=builder.operand(rows))
        return self._run(builder)

    def round(self, *tasks, error=0.1):
        """``error``: every word that a TRAIN reads."""
        builder = Builder(COMMANDS)
        builder.operand(np.full(SMALL.screen_bytes // 4, error, np.float32))
        source = builder.operand(records(tasks))
        builder.raw(Opcode.ROUND, count=len(tasks), source=source)
        builder.result(SMALL.output_bytes)
        return self._run(builder)


def infer(step, agent=0, snapshot=0):
    return blank_task(INFER, count=1, step=step, snapshot=snapshot, agents=[agent, *[0] * 7])


def train(agent=0):
    return blank_task(TRAIN, unit=1, count=1, agents=[agent, *[0] * 7], **CONSTANTS)


@pytest.fixture(params=["model", "sim"])
def kernel(request):
    """With both images."""
    with opened(request.param, SMALL) as opened_kernel:
        kernel = Kernel(opened_kernel)
        for image in (THETA, SQUARES):
            assert kernel.load(image) is Error.NONE
        yield kernel


def test_overflow(kernel):
    """hw_arrays 5: a square that is too large leaves g infinite, an infinite gradient theta a NaN;
    both are said until the image is loaded again."""

    def trained(error):
        assert kernel.round(blank_task(SYNC)) is Error.NONE
        assert kernel.round(infer(0)) is Error.NONE
        assert kernel.round(train(), error=error) is Error.NONE
        return kernel.overflow

    assert trained(0.1) == trained(1e15) == 0
    assert trained(1e20) == 0b10
    assert trained(0.1) == 0b10
    assert kernel.load(THETA) is Error.NONE and kernel.overflow == 0b10
    assert kernel.load(SQUARES) is Error.NONE and kernel.overflow == 0
    assert trained(3e38) == 0b11
    assert kernel.load(SQUARES) is Error.NONE and kernel.overflow == 0b01
    assert kernel.load(THETA) is Error.NONE and kernel.overflow == 0
    # Of a theta of zeros only the last layer, which is the first to be updated, has a gradient.
    assert kernel.load(THETA, 0) is Error.NONE and trained(0.1) == 0
    assert trained(1e20) == 0b10
    assert kernel.round(blank_task(SYNC)) is Error.NONE and kernel.overflow == 0b10


def test_load_of_theta_empties(kernel):
    """hw_arrays 6: rollouts and snapshots are of the theta before; g alone leaves them."""
    sync = blank_task(SYNC)
    assert kernel.round(sync, blank_task(SYNC, snapshot=2)) is Error.NONE
    assert kernel.round(infer(0), infer(0, agent=3)) is Error.NONE
    assert kernel.load(SQUARES) is Error.NONE and kernel.status["synced"] == 0b101
    assert kernel.round(infer(1)) is Error.NONE
    counts = [kernel.status[name].item() for name in ("rounds", "tasks")]
    assert kernel.load(THETA) is Error.NONE and kernel.status["synced"] == 0
    # Survivor 09: they count since reset.
    assert [kernel.status[name].item() for name in ("rounds", "tasks")] == counts == [3, 5]
    assert kernel.round(infer(2)) is Error.SNAPSHOT
    assert kernel.round(sync, infer(2)) is Error.STEP
    assert kernel.round(sync, train()) is Error.SNAPSHOT
    assert kernel.round(sync) is Error.NONE
    for agent, steps in ((0, 2), (3, 1)):
        assert kernel.round(infer(steps, agent)) is Error.STEP
        assert kernel.round(train(agent)) is Error.STEP
        assert kernel.round(infer(0, agent)) is Error.NONE


def test_clocks_of_a_refused_round():
    """Survivor F21: they stay those of the last one that was executed."""
    names = ("round_cycles", "update_cycles", "unit_cycles")
    with opened("sim", SMALL) as opened_kernel:
        kernel = Kernel(opened_kernel)
        for image in (THETA, SQUARES):
            kernel.load(image)
        assert kernel.round(blank_task(SYNC), infer(0)) is Error.NONE
        before = [kernel.status[name].tolist() for name in names]
        assert before[0] > SMALL.theta_rows and before[0] > before[2][0] > before[1] > 0
        for refused in ([infer(0)], [infer(1, snapshot=1)], [blank_task(SYNC, unit=1)]):
            assert kernel.round(*refused) is not Error.NONE
            assert [kernel.status[name].tolist() for name in names] == before
        # Survivor 04: a round without updates has no clocks of them.
        assert kernel.round(infer(1)) is Error.NONE
        assert kernel.status["update_cycles"] == 0 < kernel.status["round_cycles"]
