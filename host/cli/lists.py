"""The tables of ``rlfabric list``: designs, boards, algorithms, presets, learners, replay
memories, tasks, cards, machines. Each imports what it lists: help needs none of it."""

from collections import Counter

from host.terminal.tables import console, table

__all__ = ["DETAILED", "LISTS"]

CARDS = {
    "model": "bit-exact twins in Python, no build",
    "sim": "the generated Verilog under Verilator",
    "xrt[:N]": "card N (0) of this machine, through XRT",
    "pynq:BITFILE": "the logic of this Zynq board, through PYNQ",
    "uart:PORT": "a board on a serial port",
}


def _named(title, rows):
    table(title, ("name", "what"), rows)


def _designs():
    from hw.designs import DESIGNS

    _named("Designs", [(name, each.summary) for name, each in DESIGNS.listed().items()])


def _size(count):
    return f"{count >> 20} MiB" if count >> 20 else f"{count >> 10} KiB"


def _boards():
    import boards

    rows = []
    for board in boards.BOARDS.values():
        memory = ", ".join(
            f"{count} x {_size(size)} {kind}"
            for (kind, size), count in Counter((b.kind, b.size) for b in board.banks).items()
        )
        clock = f"{board.clocks[0].mhz} MHz"
        rows.append((board.name, board.part, memory, clock, board.flow))
    table("Boards", ("name", "part", "memory", "clock", "flow"), rows)
    rows = [(board.name, *board.total.to_dict().values()) for board in boards.BOARDS.values()]
    table("Parts of the boards", ("name", "LUT", "FF", "BRAM36", "URAM", "DSP"), rows)
    for board in boards.BOARDS.values():
        if board.platform:
            first, last = board.releases
            releases = f"{first} to {last}" if last else f"{first} or later"
            _note(f"{board.name}: {board.platform}, tools of release {releases}")
        for setup in board.setups:
            sizes = ", ".join(_size(bank.size) for bank in setup.banks)
            names = ", ".join(setup.designs)
            _note(f"{board.name}, for {names}: {sizes}; {setup.clocks[0].mhz} MHz")
        for fact in board.unverified:
            _note(f"{board.name}, not confirmed: {fact}")


def _note(text):
    console.print(f"  {text}", style="dim", markup=False, highlight=False)


def _machines():
    from host.compose.machine_library import SHIPPED, THIS, shipped

    rows = [(THIS, "cores of this process, a GPU if torch sees one, a card of `--board`")]
    for name in SHIPPED:
        devices = shipped(name).devices
        rows.append((name, ", ".join(f"{each.name} ({each.source})" for each in devices)))
    _named("Machines", rows)


def _algorithms():
    from host.agents.registry import ALGORITHMS

    _named("Algorithms", [(name, each.summary) for name, each in ALGORITHMS.listed().items()])


def _presets():
    from host.agents.registry import ALGORITHMS

    presets = {name: each.presets for name, each in ALGORITHMS.listed().items()}
    _named("Presets", [(name, ", ".join(found)) for name, found in presets.items() if found])


def _learners():
    from host.summaries import LEARNERS

    _named("Learners", LEARNERS.items())


def _memories():
    from host.replay.cpu_memories import MEMORIES

    _named("Memories", MEMORIES.items())


def _tasks():
    from host.summaries import NAMESPACE, TASKS

    rows = [(f"{NAMESPACE}/{name}", *map(str, numbers)) for name, (_, *numbers) in TASKS.items()]
    table("Tasks", ("environment", "limit", "threshold"), rows)


def _programs():
    from gymnasium.envs.registration import registry

    from host.environments.task_ids import is_task, program_of

    rows = []
    for id, spec in registry.items():
        if is_task(spec):
            task, program = program_of(spec.kwargs["task"])
            actions = task.actions
            if not isinstance(task.actions, int):
                actions = f"of {len(task.actions)}"
            limit, threshold = spec.max_episode_steps, spec.reward_threshold
            rows.append((id, len(task.observation), actions, limit, threshold, program.reset_start))
    heads = ("environment", "observation", "actions", "limit", "threshold", "instructions")
    table("Tasks", heads, [[str(each) for each in row] for row in rows])


#: list -> function that prints it
LISTS = {
    "designs": _designs,
    "boards": _boards,
    "algorithms": _algorithms,
    "presets": _presets,
    "learners": _learners,
    "memories": _memories,
    "tasks": _tasks,
    "cards": lambda: _named("Cards", CARDS.items()),
    "machines": _machines,
}
#: list -> function that prints it in full if it is the only one asked for: it may import more
DETAILED = {"tasks": _programs}
