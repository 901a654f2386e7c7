"""The barrel machine: clocks of a step of each shipped task, and its area and speed."""

from bench import row
from bench.area_fit import mapped_units
from boards.timing import fmax
from host.environments.task_ids import find_task
from host.summaries import TASKS
from hw.environment.machine import Machine, command_clocks
from hw.environment.machine_image import Section, image_of
from hw.environment.machine_ports import Command, MachineConfig
from hw.environment.task import trace
from hw.environment.task_program import assemble
from hw.estimate import RESOURCES
from hw.verilog import to_verilog
from system.tools import BUILD_DIRECTORY

__all__ = ["LIMITS", "rows"]

ENVIRONMENTS = (8, 64)
#: The project's own limits for 8 environments on an ECP5: at most, and the clock at least.
LIMITS = {"lut": 1000, "dsp": 4, "bram36": 1.5}
MHZ = 80
_FAMILIES = {"ecp5": "ECP5", "xcup": "UltraScale+"}
_MAPPED = "estimate: yosys, module by module"


def rows(area=False):
    """The list of rows instructions and clocks of a step of all environments, for each shipped
    task; with ``area`` also resources by yosys, the machine's estimates and ecp5_fmax_mhz."""
    result = []
    for count in ENVIRONMENTS:
        config = MachineConfig(environments=count)
        for name in TASKS:
            task = find_task(name)()
            image = image_of(assemble(trace(task)), task.limit)
            case = f"{name}, {count} environments"
            if count == ENVIRONMENTS[0]:
                result.append(
                    row("machine", name, "instructions", image.length(Section.STEP), "instructions",
                        source="the program of a step, with the count of steps")
                )  # fmt: skip
            for command in (Command.STEP, Command.BEGIN, Command.LOAD):
                result.append(
                    row("machine", case, f"{command.name.lower()}_clocks",
                        command_clocks(config, image)[command], "cycles",
                        source="declared; tests count it in the RTL")
                )  # fmt: skip
        if area:
            result += _area(config, count)
    return result


def _area(config, count):
    """Rows of a machine in both families, and, of the smallest, its clock on an ECP5."""
    unit, result = {"machine": Machine(config)}, []
    bars = LIMITS if count == ENVIRONMENTS[0] else {}
    for family, title in _FAMILIES.items():
        case = f"{count} environments, {title}"
        cells = mapped_units(unit, family, "environment_bench")["machine"]
        estimate = Machine.estimate(config).of(family).resources
        for name in RESOURCES:
            bar = bars.get(name) if family == "ecp5" else None
            result.append(
                row("machine", case, name, cells[name], "cells",
                    reference=bar and "at most", reference_value=bar, source=_MAPPED)
            )  # fmt: skip
            result.append(
                row("machine", case, f"{name}_estimate", estimate[name], "cells",
                    reference="mapped", reference_value=cells[name],
                    source="the machine's own estimate")
            )  # fmt: skip
    if bars:
        verilog = to_verilog(Machine(config), name="machine")
        mhz = fmax(verilog, "machine", work=BUILD_DIRECTORY / "speed")
        result.append(
            row("machine", f"{count} environments, ECP5", "ecp5_fmax_mhz", round(mhz, 1), "MHz",
                reference="at least", reference_value=MHZ,
                source="estimate: yosys and nextpnr, ECP5 LFE5U-85F, speed grade 6")
        )  # fmt: skip
    return result
