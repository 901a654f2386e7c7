"""The kernel ``a3c`` on AXI models that nobody here wrote, under back-pressure."""

import axi
import pytest
from fa3c.kernel_programs import SIZES, RandomRounds
from fa3c.modelled import CLOCKS
from fa3c.tasks import small_config

from hw.fa3c.records import Error
from hw.shell.axi import EngineConfig


def kernel_config(data_width):
    return small_config(
        height=4,
        width=4,
        convolutions=((16, 2, 2),),
        hidden=(),
        outputs=3,
        lanes=1,
        units=("any",),
        batch=2,
        steps=2,
        agents=3,
        snapshots=2,
        tasks=4,
        rms_units=1,
        drain_words=1,
        parameter_rows=64,
        engine=EngineConfig(data_width=data_width, depth=16, burst_beats=8, bursts=4),
    )


@pytest.mark.long
@pytest.mark.parametrize("data_width", [512, 128])
def test_rounds_under_back_pressure(simulate, tmp_path, data_width):
    """Both images there and back, rounds with all kinds of tasks, one that is refused."""
    source = RandomRounds(kernel_config(data_width), seed=1)
    launches, outcomes, kinds = [source.images()], [[4, 0]], set()
    for number in range(6):
        tasks = source.tasks(spoilt=number == 4)
        error, _ = source.reference.check(tasks, *SIZES)
        launches.append(source.round(tasks))
        outcomes.append([int(error == Error.NONE), int(error)])
        if error == Error.NONE:
            source.reference.execute(tasks)
            kinds |= {task["kind"] for task in tasks}
    assert kinds == {0, 1, 2} and len({error for _, error in outcomes}) == 2
    axi.run(simulate, tmp_path, "a3c", source.config, launches, outcomes, gap=0.3, clocks=CLOCKS)
