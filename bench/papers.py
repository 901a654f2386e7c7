"""README's table of results: a row for each paper, printed from the rows of five benches."""

__all__ = ["papers"]

_SIMULATED = "Verilog, on the simulated card"


def papers(results):
    """Yields the lines of README's table of papers, each a list of cells, the heads first.

    ``results(name)`` gives the ``Results`` of the bench ``name``.
    """
    yield ["paper", "kernel", "figure", "rlfabric", "the paper", "how ours was measured"]
    step = results("learner").row(
        "4-64-2, words 4-8-2, DP=2, fixed, B=64",
        "gradient_step_cycles",
        reference="CF'22's formula, DP=2",
    )
    draw = results("replay").row("N=2^20, K=16, B=512", "sample_cycles")
    advantages = results("gae").row("64 x 1024 steps, k=2", "elements_per_cycle")
    inferences = results("fa3c").row(
        "2 pairs of 64 PEs, 16 agents", "ips", reference="FA3C", source="Verilog"
    )
    samples = results("fixar").row("17-400-300-6, 512 PEs, full, B=512", "ips")
    paper = results("fixar").beside("17-400-300-6, 512 PEs, full, B=64", "ips", reference="FIXAR")
    for name, kernel, what, row, beside, how in (
        ("CF'22", "dqn", "clocks of a DQN step, 4-64-2, batch 64, 2 lanes of 32 and 16 PEs "
         "(the paper: its formula)", step, None, _SIMULATED),
        ("PEARL", "replay", "clocks to draw 512 of 2^20 experiences, 16 children a node (the "
         "paper: equation 4)", draw, None, "Verilog of the tree's manager"),
        ("HEPPO", "gae", "time steps a clock, 64 rows of advantages and rewards-to-go", advantages,
         None, "Verilog of the array"),
        ("FA3C", "a3c", "inferences a second while 16 agents train, at 180 MHz (the paper: with "
         "its host)", inferences, None, _SIMULATED),
        ("FIXAR", "fixar", "training samples a second, 17-400-300-6, 512 PEs, 32 bits, at 164 MHz",
         samples, paper, _SIMULATED),
    ):  # fmt: skip
        beside = row["reference_value"] if beside is None else beside
        yield [name, f"`{kernel}`", what, row["value"], beside, how]
