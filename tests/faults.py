"""The same launches again and again on card ``sim``, each time with another answer that fails."""

import functools
from itertools import pairwise

import numpy as np

from hw.shell.errors import ShellError
from hw.shell.status_block import STATUS
from sim.card.memory import Fault, MemoryConfig

__all__ = ["EVERYWHERE", "Course", "assert_same", "failed", "shell_of"]

#: Channels whose answers can fail.
_ANSWERS = ("R", "B")

#: What ``Course.sweep`` meets where both masters read and write.
EVERYWHERE = {
    ("host", "R", ShellError.AXI),
    ("host", "B", ShellError.AXI),
    ("host", "B", ShellError.NONE),  # of the status, which nothing can tell
    ("storage", "R", ShellError.AXI),
    ("storage", "B", ShellError.AXI),
}


def shell_of(outputs):
    """The STATUS record of what ``Rig.run`` returned."""
    return outputs["status"][: STATUS.size].view(STATUS.dtype)[0]


def failed(outputs, command, label):
    """Assert that the launch ended at ``command`` with AXI; the detail."""
    shell = shell_of(outputs)
    assert (shell["error"], shell["error_command"]) == (ShellError.AXI, command), label
    assert shell["executed"] == command, label
    return int(shell["error_detail"])


def assert_same(got, expected, label, names=None):
    """Every byte of the buffers ``names`` (None: all) after a launch, and of a kernel's own status
    block; the shell's, which tells of the launch, stays out."""
    for name in names or expected:
        skip = STATUS.size if name == "status" else 0
        different = np.flatnonzero(got[name][skip:] != expected[name][skip:])
        assert not len(different), f"{label}: {name} from byte {skip + different[0]:#x} on"


class Course:
    """Launches in order on a fresh kernel.

    Parameters
    ----------
    opened : callable
        ``opened(card, **options)``: a context manager that gives a loaded kernel.
    rig : callable
        Kernel to ``programs.Rig``.
    launches : sequence of programs.Launch
    max_cycles : int
        Each launch ends within so many clocks.
    memory :
        Of ``MemoryConfig``.
    """

    def __init__(self, opened, rig, launches, *, max_cycles=20_000, **memory):
        self.opened, self.rig, self.launches = opened, rig, list(launches)
        self.max_cycles, self.memory = max_cycles, dict(max_idle=3000) | memory

    def run(self, faults=(), after=None):
        """Outputs of every launch on card ``sim``; ``after(kernel)`` follows each."""
        memory = MemoryConfig(faults=faults, **self.memory)
        with self.opened("sim", memory=memory) as kernel:
            rig, outputs = self.rig(kernel), []
            for launch in self.launches:
                outputs.append(rig.run(launch))
                cycles = rig.buffers["status"].view[: STATUS.size].view(STATUS.dtype)[0]["cycles"]
                assert cycles < self.max_cycles, f"{cycles} clocks with {faults}"
                if after:
                    after(kernel)
            return outputs

    @functools.cached_property
    def _totals(self):
        """Answers up to the end of each launch, by master and channel, where none fails."""
        totals = [{}]

        def count(kernel):
            channels = kernel.card.device._kernel.channels()
            totals.append({key: state.beats for key, state in channels.items()})

        self.healthy = self.run((), count)
        return totals

    def answers(self, launch, master, channel):
        """How many answers there are in a launch of which none fails; of writes, one a burst."""
        before, after = list(pairwise(self._totals))[launch]
        key = f"m_axi_{master}", channel
        return after[key] - before.get(key, 0)

    def fail(self, launch, master, channel, number, count=1):
        """Outputs of every launch, where the answers from ``number`` of ``launch`` on fail."""
        skip = number + self._totals[launch].get((f"m_axi_{master}", channel), 0)
        fault = Fault(
            master=f"m_axi_{master}", channel=channel, kind="error", skip=skip, count=count
        )
        return self.run((fault,))

    def twin(self, *launches):
        """Outputs of ``launches`` on card ``model``, where no memory fails."""
        with self.opened("model") as kernel:
            rig = self.rig(kernel)
            return [rig.run(launch) for launch in launches]

    def sweep(self, launch, again, stride=1, clean=lambda outputs: outputs):
        """Each answer of ``launch``, or one in ``stride``, fails, one at a time: the launch ends,
        with AXI or no error.

        ``again``, the number of a later launch that begins anew, then finds nothing left over: all
        its bytes, after ``clean``, are those of the twin, which never saw ``launch``. Returns
        master, channel and error of all that was met.
        """
        expected = clean(*self.twin(self.launches[again]))
        errors = set()
        masters = {master for total in self._totals for master, _ in total}
        for master in sorted(masters):
            name = master.removeprefix("m_axi_")
            for channel in _ANSWERS:
                answers = self.answers(launch, name, channel)
                for number in {*range(0, answers, stride), answers - 1}:
                    label = f"{master} {channel} {number}"
                    outputs = self.fail(launch, name, channel, number)
                    shell = shell_of(outputs[launch])
                    assert shell["error"] in (ShellError.NONE, ShellError.AXI), label
                    errors.add((name, channel, int(shell["error"])))
                    assert_same(clean(outputs[again]), expected, label)
                    assert shell_of(outputs[again]) == shell_of(expected), label
        return errors
