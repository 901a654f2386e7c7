"""The tables of README and of docs/results, printed from the rows that ``docs/results`` keeps.

A table is a function of a bench's ``Results`` that returns its lines, the heads first, as lists of
cells. A cell is a text, a number of a row, or None where there is nothing. ``papers``,
``operating_points`` and ``fixar_platforms`` take the ``Results`` of several benches.
"""

from functools import partial

from bench.bitstreams import KERNELS
from bench.bitstreams import case as case_of
from bench.fixar_table_2 import fixar_platforms
from bench.learner_tables import learner_area, learner_steps
from bench.markdown import grouped, line
from bench.papers import operating_points, papers
from bench.results import FOLDER, Results

__all__ = ["TABLES", "lines"]

_BATCHES = (64, 128, 256, 512)
_CELLS = ("lut", "ff", "bram36", "uram", "dsp")


def learner_software(rows):
    programs = "torch, eager", "JAX, jitted", "twin (card model), float32"
    yield ["B", *programs]
    for batch in (32, 64, 512):
        cases = [f"4-64-64-2, B={batch}, {name}" for name in programs]
        yield [batch, *(_times(rows.value(case, "software_over_card")) for case in cases)]


def replay_manager(rows):
    yield ["K", "B", "SAMPLE", "PEARL", "SET", "GET", "PEARL", "random mix", "PEARL"]
    for fanout in (16, 64):
        for batch in (32, 64, 256, 512):
            case = f"N=2^20, K={fanout}, B={batch}"
            sample, put, get, mixed = (
                (rows.value(case, f"{name}_cycles"), rows.beside(case, f"{name}_cycles"))
                for name in ("sample", "set", "get", "mixed")
            )
            yield [fanout, batch, *sample, put[0], *get, *mixed]


def replay_kernel(rows):
    case = "N=2^20, K=16, B=512, 40-byte experiences"
    yield ["what", "clocks"]
    for what, metric in (
        ("launch, from start to the status block", "kernel_sample_cycles"),
        ("its part until the last draw", "kernel_draw_cycles"),
        ("then until the last arrival", "kernel_gather_cycles"),
        ("then until the last write", "kernel_write_cycles"),
        ("bound by memory alone (below)", "kernel_sample_bound"),
        ("launch with an INSERT of 512", "kernel_insert_cycles"),
        ("launch with an UPDATE of 512", "kernel_update_cycles"),
    ):
        yield [what, rows.value(case, metric)]


def replay_area(rows):
    yield ["K", "LUT", "FF", "BRAM36", "URAM", "DSP"]
    for fanout in (16, 64):
        yield [fanout, *_area(rows, f"N=2^20, K={fanout}, 24-bit leaves")]


def replay_software(rows):
    yield ["B", "rlfabric K=16, clocks an index", "compiled (numba) K=16 tree", "cpprb"]
    for batch in (32, 64, 256, 512):
        own = rows.value(f"N=2^20, K=16, B={batch}", "clocks_per_index")
        peers = ("numba K=16 tree, targets given", "cpprb 11, 1-float record")
        cases = [f"N=2^20, B={batch}, {name}" for name in peers]
        yield [batch, own, *(_times(rows.value(case, "peer_over_card")) for case in cases)]


def bitstreams(rows):
    cells = "LUT4", "FF", "EBR", "MULT18"
    yield ["kernel", "seed", "MHz", "asked for", *(f"{name}, %" for name in cells)]
    for name, kernel in KERNELS.items():
        for seed in kernel.seeds:
            routed = case_of(name, seed)
            shares = (rows.value(routed, f"{each.lower()}_share") for each in cells)
            clock = rows.row(routed, "routed_mhz")
            yield [f"`{name}`", seed, clock["value"], clock["reference_value"], *shares]


def gae_array(rows):
    yield ["k", "clocks", "steps a clock", "rows busy", "loop levels", "loop MHz", "PE MHz", "LUT",
           "FF", "DSP"]  # fmt: skip
    for k in (1, 2, 3):
        full, words = f"64 x 1024 steps, k={k}", f"k={k}, words of 27 bits"
        many = f"800 trajectories of 16 to 128 steps, 64 rows, k={k}"
        area = f"64 PEs with their loaders, k={k}"
        yield [
            k, rows.value(full, "gae_cycles"), rows.value(full, "elements_per_cycle"),
            rows.value(many, "row_occupancy"), rows.value(f"loop, {words}", "logic_depth"),
            rows.value(f"loop, {words}", "ecp5_fmax_mhz"),
            rows.value(f"pe, {words}", "ecp5_fmax_mhz"),
            *(rows.value(area, name) for name in ("lut", "ff", "dsp")),
        ]  # fmt: skip
    area = "64 PEs with their loaders, k=2"
    paper = _beside(rows, area, ("lut", "ff", "dsp"))
    steps = rows.beside("64 x 1024 steps, k=2", "elements_per_cycle")
    yield ["HEPPO, k = 2", None, steps, None, None, None, None, *paper]


def gae_software(rows):
    cases = (
        "stable-baselines3",
        "NumPy, a step at a time",
        "numba, double loop",
        "C, time outside",
    )
    yield list(cases)
    yield [_times(rows.value(f"64 x 1024, {case}", "software_over_array")) for case in cases]


def fa3c_rates(rows):
    sixteen, routine = "2 pairs of 64 PEs, 16 agents", "16 agents, a routine"
    own = "a theta of its own each"
    verilog = dict(reference="FA3C", source="Verilog")
    yield ["what", "here", "FA3C"]
    for what, case, metric, which in (
        ("inferences a second, 16 agents, 5 steps a rollout: a whole period of rounds on the "
         "simulated card; FA3C's with its host", sixteen, "ips", verilog),
        ("the same, memory of 0.75 beats a clock and direction",
         f"{sixteen}, memory of 0.75 beats a clock", "ips", verilog),
        ("inferences a second, 16 agents with a theta of their own each, as FA3C has it",
         f"{sixteen}, {own}", "ips", verilog),
        ("clocks of a training of 5 samples, one unit; FA3C's computed from its mapping",
         "Atari network, 5 samples", "train_cycles", dict(reference="FA3C")),
        ("clocks of an inference of 4 agents", "Atari network, 4 agents", "infer_cycles",
         dict(reference="FA3C")),
        ("clocks of an inference of 1 agent", "Atari network, 1 agents", "infer_cycles",
         dict(reference="FA3C")),
        ("MB read off chip, an agent's routine", routine, "load_bytes", dict(reference="FA3C")),
        ("the same, a theta of its own each", f"{routine}, {own}", "load_bytes",
         dict(reference="FA3C")),
        ("MB written off chip, an agent's routine", routine, "store_bytes", dict(reference="FA3C")),
        ("the same, a theta of its own each", f"{routine}, {own}", "store_bytes",
         dict(reference="FA3C")),
    ):  # fmt: skip
        row = rows.row(case, metric, **which)
        yield [what, row["value"], row["reference_value"]]
    for what, case in (("a training", "a TRAIN"), ("two trainings at once", "two at once")):
        extra = rows.value(case, "rmsprop_extra_cycles")
        yield [f"clocks that RMSProp adds to {what}", extra, None]


def fa3c_host(rows):
    two = "ALE/Pong-v5, 2 populations of 16 agents"
    one = "ALE/Pong-v5, one population, which waits for its environments"
    paper = rows.beside(two, "platform_ips")
    yield ["Pong with its host", "inferences a second", "FA3C"]
    for what, case, metric, beside in (
        ("the card, without launches", two, "device_ips", None),
        ("environments and host on two cores", two, "host_ips", None),
        ("all, two populations: the slower of host and card", two, "platform_ips", paper),
        ("all, one population, which waits for the card", one, "platform_ips", paper),
        ("torch on one thread, the same rounds", two, "software_ips", None),
        ("card `model`, two threads", two, "model_ips", None),
    ):
        yield [what, rows.value(case, metric), beside]


def fa3c_area(rows):
    yield ["part", "LUT", "FF", "BRAM36", "URAM", "DSP", "FA3C: LUT", "FF", "blocks", "DSP"]
    case = "2 pairs x 64 PEs, Atari network"
    parts = {
        "PEs": "PEs",
        "muxes": "muxes (array's control, drain)",
        "parameter buffer": "parameter buffer",
        "gradient buffer": "gradient buffer (queues)",
        "feature map buffer": "feature map buffer",
        "BCU": "BCU (lines, loops, schedule)",
        "TLU": "TLU",
        "RMSProp": "RMSProp",
        "DDR-CU interconnect": "interconnect, engines",
        "rounds and commands": "rounds and commands",
    }
    cells = ("lut", "ff", "blocks", "dsp")
    yield from _parts(rows, case, parts, cells)
    yield ["**whole**", *_area(rows, case), *_beside(rows, case, cells, reference="FA3C")]


def fixar_iterations(rows):
    net, worked = "17-400-300-6, 512 PEs", dict(source="worked out")
    paper = rows.beside(f"{net}, full, B=64", "ips", reference="FIXAR")
    used = rows.beside(f"{net}, full, B=64", "pe_use", reference="FIXAR")
    yield ["whole iterations", *(f"B = {batch}" for batch in _BATCHES), "FIXAR"]
    for what, kernel, metric, which, beside in (
        ("full precision: clocks", f"{net}, full", "iteration_cycles", {}, None),
        ("full precision: IPS", f"{net}, full", "ips", {}, paper),
        ("useful products per PE and clock", f"{net}, full", "pe_use", {}, used),
        ("16 bits: clocks", f"{net}, half", "iteration_cycles", {}, None),
        ("16 bits: IPS", f"{net}, half", "ips", {}, "never timed"),
        ("useful products per PE and clock", f"{net}, half", "pe_use", {}, None),
        ("16 bits, errors 32 (the paper, literally): IPS", f"{net}, mixed", "ips", worked, None),
        ("Hopper, 16 bits: IPS", "11-400-300-3, 512 PEs, half", "ips", worked, None),
        ("Swimmer, 16 bits: IPS", "8-400-300-2, 512 PEs, half", "ips", worked, None),
    ):
        values = [rows.value(f"{kernel}, B={batch}", metric, **which) for batch in _BATCHES]
        yield [what, *values, beside]


def fixar_timestep(rows):
    net = "17-400-300-6, 512 PEs, half"
    step = f"{net}, B=64: LEARN that stores an experience, ACT"
    most = dict(reference="at most")
    yield ["a timestep, 16 bits", "measured", "limit"]
    for what, case, metric in (
        ("clocks that an ACT of one observation adds", f"{net}, 1 observations", "act_cycles"),
        ("clocks that an ACT of 16 observations adds", f"{net}, 16 observations", "act_cycles"),
        ("clocks of a LEARN of B = 64 that stores an experience, and an ACT", step, "step_cycles"),
        ("bytes between host and card for these two", step, "step_bytes"),
    ):
        yield [what, rows.value(case, metric, **most), rows.beside(case, metric, **most)]
    batch = rows.beside(step, "step_bytes", reference="FIXAR")
    yield ["FIXAR: bytes of the batch alone", batch, None]
    for batch, cores in ((64, 2), (512, 2), (512, 4), (512, 7)):
        for program in ("torch, eager", "JAX, jitted"):
            case = f"17-400-300-6, B={batch}, {program}; kernel of {256 * cores} PEs, half"
            row = rows.row(case, "ips_over_software")
            what = f"IPS of {cores} cores over those of {program}, one thread, B = {batch}"
            yield [what, row["value"], row["reference_value"]]


def fixar_host(rows):
    yield ["a timestep with MuJoCo", "B", "environment, ms", "host, ms", "launches and link, ms",
           "card, 32 bits, ms", "card, 16 bits, ms", "IPS, 32 bits", "IPS, 16 bits",
           "FIXAR: environment, ms", "IPS"]  # fmt: skip
    for task, net in (("HalfCheetah", "17-400-300-6"), ("Hopper", "11-400-300-3"),
                      ("Swimmer", "8-400-300-2")):  # fmt: skip
        for batch in _BATCHES:
            case = f"{task}-v5, B={batch}"
            kernels = [f"{net}, 512 PEs, {kind}, B={batch}" for kind in ("full", "half")]
            yield [
                task, batch,
                *(rows.value(case, f"{name}_ms") for name in ("environment", "runtime", "launch")),
                *(rows.value(kernel, "card_ms") for kernel in kernels),
                *(rows.value(kernel, "platform_ips") for kernel in kernels),
                rows.beside(case, "environment_ms"),
                rows.beside(kernels[1], "platform_ips"),
            ]  # fmt: skip


def fixar_area(rows):
    yield ["part", "LUT", "FF", "BRAM36", "URAM", "DSP", "FIXAR: LUT", "FF", "BRAM36", "URAM",
           "DSP"]  # fmt: skip
    case = "17-400-300-6, 512 PEs, both, B=512, N=1048576"
    parts = {
        "PEs": "PEs",
        "on-chip memory": "on-chip memory",
        "Adam": "Adam, 16 optimizers",
        "control": "control",
        "kernel interface": "kernel interface",
        "HBM interface": "HBM interface",
        "replay memory": "replay memory, which FIXAR leaves to the host",
    }
    yield from _parts(rows, case, parts, _CELLS)
    lut, dsp = _beside(rows, case, ("lut", "dsp"), reference="FIXAR")
    yield ["**whole**", *_area(rows, case), lut, None, None, None, dsp]


def solve(rows):
    yield ["task", "program", "seeds solved", "environment steps: median", "least", "most",
           "gradient steps", "seconds: median", "least", "most"]  # fmt: skip
    for found in (row for row in rows.rows if row["metric"] == "seeds_solved"):
        task, program = found["case"].split(", ", 1)
        seeds, allowed = found["reference_value"], rows.value(found["case"], "steps_allowed")
        cells = [
            rows.value(found["case"], f"{name}{which}")
            for name, parts in _SOLVED.items()
            for which in parts
        ]
        never = f"not within {grouped(allowed)}"
        cells[:3] = [never if cell is None else cell for cell in cells[:3]]
        yield [task, program, f"{found['value']} of {seeds}", *cells]


_SOLVED = {"steps": ("", "_least", "_most"), "updates": ("",), "seconds": ("", "_least", "_most")}


def _parts(rows, case, parts, cells):
    """A line for each part of a kernel: its resources, and the paper's ``cells`` beside them."""
    for part, what in parts.items():
        own = f"{case}: {part}"
        yield [what, *_area(rows, own), *_beside(rows, own, cells)]


def _area(rows, case):
    return [rows.value(case, name) for name in _CELLS]


def _beside(rows, case, names, **which):
    return [rows.beside(case, name, **which) for name in names]


def _times(value):
    return f"{value} x"


#: name of a table -> the bench that has its rows (None: several), and the function that prints it
TABLES = {
    function.__name__: (bench, function)
    for bench, functions in {
        "learner": (learner_steps, learner_software, learner_area),
        "bitstreams": (bitstreams,),
        "replay": (replay_manager, replay_kernel, replay_area, replay_software),
        "gae": (gae_array, gae_software),
        "fa3c": (fa3c_rates, fa3c_host, fa3c_area),
        "solve": (solve,),
        "fixar": (fixar_iterations, fixar_timestep, fixar_host, fixar_area),
    }.items()
    for function in functions
} | {
    function.__name__: (None, function) for function in (papers, operating_points, fixar_platforms)
}


def lines(name, folder=FOLDER):
    """The list of Markdown lines of the table ``name``, a key of TABLES, from the files in
    ``folder``; KeyError if a row is missing there."""
    bench, function = TABLES[name]
    heads, *cells = function(Results.of(bench, folder) if bench else partial(_results, folder))
    # Names to the left, numbers to the right.
    sides = ["---" if isinstance(cell, str) else "---:" for cell in cells[0]]
    return [line(each) for each in (heads, sides, *cells)]


def _results(folder, name):
    return Results.of(name, folder)
