"""The kernel ``a3c`` on AXI models of another project, under back-pressure on four masters.

Long for any network: half a minute passes before the first clock.
"""

import axi
import pytest
from fa3c.kernel_programs import RandomRounds
from fa3c.modelled import CLOCKS
from fa3c.networks import network
from fa3c.tasks import blank_task
from programs import Builder

from hw.fa3c.commands import COMMANDS
from hw.fa3c.records import Error
from hw.shell.axi import EngineConfig

INFER, TRAIN, SYNC = range(3)

#: One unit of a lane; 96 rows of parameters.
TINY = network(
    height=3,
    width=3,
    channels=1,
    convolutions=((4, 2, 1),),
    hidden=(),
    lanes=1,
    steps=1,
    units=("any",),
    batch=1,
    agents=1,
    snapshots=1,
    tasks=4,
    parameter_rows=64,
    rms_units=1,
)

#: Rows are four beats; two units, so that memory serves several at a time.
NARROW = network(
    height=5,
    width=5,
    channels=1,
    hidden=(),
    steps=2,
    parameter_rows=128,
    engine=EngineConfig(data_width=128, depth=64, burst_beats=16, bursts=4),
)


@pytest.mark.long
def test_a_step_under_back_pressure(simulate, tmp_path):
    """A snapshot and a step, both images back; the training of the step; also where other things
    come first at time 0."""
    source = RandomRounds(TINY, seed=1)
    launches = [
        source.images([blank_task(SYNC), blank_task(INFER, count=1)]),
        source.round([blank_task(TRAIN, count=1, **source.constants())]),
    ]
    outcomes = [[launch.command_count, 0] for launch in launches]
    axi.run(simulate, tmp_path, "a3c", TINY, launches, outcomes, gap=0.3, clocks=CLOCKS,
            again="icarus-2005")  # fmt: skip


@pytest.mark.long
def test_rounds_under_back_pressure(simulate, tmp_path):
    """Random lists, one of which breaks a rule."""
    source = RandomRounds(NARROW, seed=34)
    launches, outcomes, kinds = [source.images()], [[4, 0]], set()
    for number in range(4):
        tasks = source.tasks(spoilt=number == 2)
        error, _ = source.reference.check(tasks, 1 << 13, 1 << 12)
        launches.append(source.round(tasks))
        outcomes.append([int(error == Error.NONE), int(error)])
        if error == Error.NONE:
            source.reference.execute(tasks)
            kinds |= {task["kind"] for task in tasks}
    assert kinds == {INFER, TRAIN, SYNC} and any(error for _, error in outcomes)
    stores = Builder(COMMANDS)
    source.store(stores)
    launches, outcomes = [*launches, stores.launch()], [*outcomes, [2, 0]]
    axi.run(simulate, tmp_path, "a3c", NARROW, launches, outcomes, gap=0.3, clocks=CLOCKS,
            limit_us=2000)  # fmt: skip
