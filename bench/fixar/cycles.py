"""Clocks of FIXAR's iterations and of ACT on the simulated card, as rates at the paper's clock
beside its figures. Those of kernels with more cores come from the formulas with which the measured
ones agree."""

from dataclasses import replace

from bench import row
from bench.fixar.card import PRECISIONS, measure, precision_of
from hw.fixar.config import FixarConfig, FixarKernelConfig
from hw.fixar.estimate import estimate
from hw.fixar.pass_clocks import acting_cycles, iteration_cycles
from hw.fixar.plan import Kind, plan

__all__ = [
    "BATCHES",
    "CLOCK",
    "TASKS",
    "case_of",
    "config_of",
    "largest_ips",
    "macs",
    "pe_use",
    "rows",
    "worked_out",
]

#: The paper's clock, FIXAR VI-A.
CLOCK = 164e6
#: Environment -> observations and actions (FIXAR VI-A; Hopper has 3 actions, not 6).
TASKS = {"HalfCheetah": (17, 6), "Hopper": (11, 3), "Swimmer": (8, 2)}
BATCHES = (64, 128, 256, 512)
#: Accelerator alone, every batch size (FIXAR VI-C, Fig. 10).
PAPER_IPS = 53_827
PAPER = dict(reference="FIXAR VI-C, 512 PEs, full", reference_value=PAPER_IPS)

_SOURCE = "Verilog on the simulated card: draw, gather and update with it; at 164 MHz"
_FORMULA = "worked out, hw.fixar.pass_clocks, at 164 MHz"


def config_of(task, *, cores=2, batch=512, **fields):
    observation, action = TASKS[task]
    fields |= dict(hidden=(400, 300), batch=batch, cores=cores)
    return FixarConfig(observation=observation, action=action, **fields)


def case_of(learner, precision, batch):
    return f"{_kernel_of(learner)}, {precision}, B={batch}"


def _kernel_of(learner):
    net = "-".join(map(str, (learner.observation, *learner.hidden, learner.action)))
    port = f", {learner.port_words} words a clock" if learner.port_words > 1 else ""
    return f"{net}, {learner.cores * learner.side**2} PEs{port}"


def macs(learner):
    """Multiply-accumulates that an iteration needs for each sample of its batch; those on padding
    do not count."""
    return sum(_wanted(learner, pass_) for pass_ in plan(learner))


def _wanted(learner, pass_):
    if pass_.kind == Kind.DX and pass_.tiles:  # the actions' errors alone
        return learner.action * pass_.layer.outputs
    return pass_.layer.weights


def pe_use(learner, precision, batch, cycles):
    """The share, 0 to 1, of useful products in those that all PEs could do in an iteration.

    The iteration has ``batch`` samples and takes ``cycles`` clocks. ``precision`` is a key of
    ``PRECISIONS``: if its activations have 16 bits, a PE can do two products a clock, else one.
    """
    each = 2 if PRECISIONS[precision][0] else 1
    return macs(learner) * batch / (cycles * each * learner.cores * learner.side**2)


def rows():
    """The list of rows ips (samples a second), pe_use and iteration_cycles of kernels on the
    simulated card; for HalfCheetah also act_cycles, step_bytes, step_cycles and clocks_per_second;
    then the rows of ``worked_out``."""
    cheetah = config_of("HalfCheetah")
    cases = tuple((precision, batch) for precision in ("full", "half") for batch in BATCHES)
    measured = measure(cheetah, cases, whole=True)
    result = [line for case in cases for line in _iteration_rows(cheetah, *case, measured)]
    result += _other_rows(cheetah, measured)
    for task in ("Hopper", "Swimmer"):
        learner, case = config_of(task), ("half", 512)
        result += _iteration_rows(learner, *case, measure(learner, (case,)))
    return [*result, *worked_out()]


def worked_out():
    """The list of rows ips and ips_cores that come from formulas alone, without a simulation: other
    precisions, tasks and batches, and one to seven cores."""
    result = []
    for task, precision in (("HalfCheetah", "mixed"), ("Hopper", "half"), ("Swimmer", "half")):
        learner = config_of(task)
        for batch in BATCHES:
            clocks = iteration_cycles(learner, batch, precision_of(learner, precision))
            result.append(
                row("fixar", case_of(learner, precision, batch), "ips",
                    round(CLOCK * batch / clocks), "1/s", **PAPER, source=_FORMULA)
            )  # fmt: skip
    return [*result, *_acting_rows(), *_cores_rows(), *_port_rows()]


def _acting_rows():
    """Rows of FIXAR's timestep (Fig. 3): an iteration and an ACT of one observation."""
    learner, result = config_of("HalfCheetah"), []
    for precision in ("full", "half"):
        for batch in BATCHES:
            format_ = precision_of(learner, precision)
            clocks = iteration_cycles(learner, batch, format_) + acting_cycles(learner, 1, format_)
            result.append(
                row("fixar", f"{case_of(learner, precision, batch)}, with an ACT", "ips_act",
                    round(CLOCK * batch / clocks), "1/s", **PAPER, source=_FORMULA)
            )  # fmt: skip
    return result


def _bar(precision, batch, task):
    """Lower limits of ``ips`` and of ``pe_use``."""
    if task != "HalfCheetah":
        return 123_000, None
    if precision == "full":
        return 60_000, 0.91
    return {64: 117_000, 512: 120_000}.get(batch), 0.89


def _iteration_rows(learner, precision, batch, measured):
    case, clocks = case_of(learner, precision, batch), measured.iterations[precision, batch]
    task = next(name for name, sizes in TASKS.items() if sizes[0] == learner.observation)
    ips, use = round(CLOCK * batch / clocks), round(pe_use(learner, precision, batch, clocks), 3)
    expected = iteration_cycles(learner, batch, precision_of(learner, precision))
    least, most = _bar(precision, batch, task)
    lines = [
        row("fixar", case, "ips", ips, "1/s", **PAPER, source=_SOURCE),
        row("fixar", case, "pe_use", use, "", reference=most and "at least", reference_value=most,
            source=f"{_SOURCE}: of all weights' products, padding left out"),
        row("fixar", case, "iteration_cycles", round(clocks), "cycles",
            reference="worked out, hw.fixar.pass_clocks", reference_value=expected,
            source=_SOURCE),
    ]  # fmt: skip
    if precision == "full" and task == "HalfCheetah":
        paper = pe_use(learner, precision, batch, CLOCK * batch / PAPER_IPS)
        lines.append(row("fixar", case, "pe_use", use, "", reference="FIXAR, from its IPS",
                         reference_value=round(paper, 3), source=_SOURCE))  # fmt: skip
    if least:
        lines.insert(1, row("fixar", case, "ips", ips, "1/s", reference="at least",
                            reference_value=least, source=_SOURCE))  # fmt: skip
    return lines


def _other_rows(learner, measured):
    """Rows of ACT, of a timestep, of the simulation."""
    net = case_of(learner, "half", "")[: -len(", B=")]
    result = [
        row("fixar", f"{net}, {count} observations", "act_cycles", clocks, "cycles",
            reference="at most", reference_value=9500, source=f"{_SOURCE}: one command more")
        for count, clocks in measured.acts.items()
    ]  # fmt: skip
    case = f"{case_of(learner, 'half', 64)}: LEARN that stores an experience, ACT"
    result += [
        row("fixar", case, "step_bytes", measured.step_bytes, "B",
            reference="FIXAR, the batch alone", reference_value=10_700,
            source="program, operands, results and status of a launch"),
        row("fixar", case, "step_bytes", measured.step_bytes, "B", reference="at most",
            reference_value=1024, source="program, operands, results and status of a launch"),
        row("fixar", case, "step_cycles", measured.step_clocks, "cycles", reference="at most",
            reference_value=100_000, source="Verilog on the simulated card, a launch"),
        row("fixar", net, "clocks_per_second", round(measured.clocks_per_second), "1/s",
            source="the simulated card in this run, of processor time"),
    ]  # fmt: skip
    return result


def largest_ips(rows):
    """``{("512 PEs, half", batch): samples a second}`` from those of ``rows``, a list of result
    rows, whose metric is ips_cores."""
    result = {}
    for line in rows:
        if line["metric"] == "ips_cores":
            _, *kernel, batch = line["case"].split(", ")
            result[", ".join(kernel), int(batch.removeprefix("B="))] = line["value"]
    return result


def _port_rows():
    """Rows of 64 samples and of one action where weights come 1, 2 or 4 words a clock, by
    formula."""
    result, least = [], {(4, 2, "half"): 185_000, (7, 4, "half"): 240_000, (7, 4, "full"): 160_000}
    for words, most in ((1, None), (2, 4900), (4, 2700)):
        for cores in (2, 4, 7):
            learner = config_of("HalfCheetah", cores=cores, port_words=words)
            for precision in ("full", "half"):
                clocks = iteration_cycles(learner, 64, precision_of(learner, precision))
                bar = least.get((cores, words, precision))
                result.append(
                    row("fixar", case_of(learner, precision, 64), "ips_port",
                        round(CLOCK * 64 / clocks), "1/s", reference=bar and "at least",
                        reference_value=bar, source=_FORMULA)
                )  # fmt: skip
            result.append(
                row("fixar", f"{_kernel_of(learner)}, 1 observation", "act_cycles_port",
                    acting_cycles(learner, 1, precision_of(learner, "full")), "cycles",
                    reference=most and "at most", reference_value=most, source=_FORMULA)
            )  # fmt: skip
    return result


def _cores_rows():
    """Rows of 1 to 7 cores, by formula."""
    result = []
    for cores in range(1, 8):
        learner = config_of("HalfCheetah", cores=cores)
        blocks = estimate(replace(FixarKernelConfig(), learner=learner)).dsp
        result.append(
            row("fixar", _kernel_of(learner), "dsp_estimate", blocks, "cells",
                source="the kernel's own estimate")
        )  # fmt: skip
        for precision in ("full", "half"):
            for batch in (64, 448, 512):
                clocks = iteration_cycles(learner, batch, precision_of(learner, precision))
                result.append(
                    row("fixar", case_of(learner, precision, batch), "ips_cores",
                        round(CLOCK * batch / clocks), "1/s", **PAPER, source=_FORMULA)
                )  # fmt: skip
    return result
