"""The LEDs of a Verilated board whose kernel plays."""

import pytest
from learner.play.play_programs import SMALL, PlayProgram, Plays
from replay.programs import Rig

from host.cards import open_card
from hw.designs import DESIGNS
from hw.learner.play.play_contract import Flag
from hw.shell.status_block import STATUS
from hw.uart.config import UartConfig
from hw.uart.system import System
from hw.verilog import to_verilog
from sim.uart import VerilatedSystem


class Line:
    """A Verilated board as the other end of a serial line."""

    def __init__(self, system):
        self.system, self.divisor = system, system.divisor

    def exchange(self, data):
        """What it answers until it has been quiet for as long as an answer takes to begin."""
        answer = self.system.run(10 * self.divisor * len(data), data)
        while more := self.system.run(8000):
            answer += more
        return answer


class PlayRig(Rig):
    """Small buffers: the line is slow."""

    SIZES = {"program": 1 << 12, "operands": 1 << 14, "results": 1 << 12, "status": 4096}


@pytest.mark.long
def test_leds_show_what_a_kernel_that_plays_does(plug, tmp_path):
    """Random actions; a network's; gradient steps; a goal that is met."""
    design, uart = DESIGNS["dqn"], UartConfig(clock_hz=12_000_000, banks=(1 << 16, 1 << 14))
    description = design.describe(SMALL)
    (tmp_path / "kernel.json").write_text(description.to_json())
    verilog = to_verilog(System(design.kernel(SMALL), uart), name="system")
    system, source = VerilatedSystem(verilog, divisor=uart.divisor), Plays(SMALL, 3)
    plug(Line(system))
    names = "acts", "learns", "met", *range(4)

    def on():
        # Settings that are being read are on for a clock or two, which nobody sees.
        return {
            name for name, share in zip(names, system.brightness(), strict=True) if share > 1e-5
        }

    with open_card("uart:/dev/board") as card:
        kernel = card.load(tmp_path / "kernel.json")
        rig, begun = PlayRig(kernel, 1 << 13), PlayProgram(SMALL)
        begun.begin(source)
        rig.run(begun.launch())
        assert on() == {"learns"}  # LOAD

        def shown(explore, goal, **settings):
            program = PlayProgram(SMALL)
            settings |= dict(period=1, starts=8, n=1, discount=1 << 31, scale=1 << 31, goal=goal)
            settings |= dict(explore=explore, end=explore, target_interval=1)
            program.play(
                40, Flag.LEARN + Flag.FRESH, settings, source.segments([0]), episodes=0,
                stratum_width=1 << 48, batch=8, alpha=0, epsilon=7,
            )  # fmt: skip
            rig.run(program.launch())
            shell = rig.buffers["status"].view[: STATUS.size].view(STATUS.dtype)[0]
            assert not shell["error"]
            return on()

        always, never = (1 << 32) - 1, 1 << 60
        assert shown(always, never, iterations=0) == set()
        assert shown(0, never, iterations=0) == {"acts"}
        assert shown(always, never, iterations=1) == {"learns"}
        assert shown(0, 8, iterations=1) == {"acts", "learns", "met", *range(4)}
        system.close()
