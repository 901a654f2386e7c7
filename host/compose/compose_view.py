"""What ``rlfabric compose`` has found, as tables, sentences and pictures."""

from host.compose.grid import figure_of, grid
from host.compose.search import MEASURED
from host.terminal.tables import console, table

__all__ = ["drawn", "drawn_plans", "show", "show_plans"]


def show(algo, found):
    """Prints an Assignment for the algorithm called ``algo`` as a table, with the choice first, and
    the sentences that explain it."""
    heads = ("RM", "learner", "storage", "T us", "EPS", "EPS/W", "bound by", "traffic us")
    order = sorted(found.alternatives, key=lambda each: each is not found.choice)
    rows = [
        [
            f"{'*' if each is found.choice else ' '} {each.rm}",
            each.learner,
            each.storage,
            f"{each.iteration_us:.4g}",
            figure_of(each.eps),
            figure_of(each.eps_per_watt),
            each.bound_by,
            f"{each.traffic_us:.4g}",
        ]
        for each in order
    ]
    sizes = found.sizes
    table(
        f"{algo}: equation 7 of PEARL for batches of {sizes.batch}, {sizes.inserts:g} insertions, "
        f"experiences of {sizes.words} words; transfers {found.transfers}; metric {found.metric}",
        heads,
        rows,
    )
    for line in _sentences(found):
        console.print(line, soft_wrap=True, markup=False, highlight=False)


def _sentences(found):
    choice = found.choice
    devices = (
        f"RM and learner on {choice.rm}"
        if choice.rm == choice.learner
        else f"RM on {choice.rm}, learner on {choice.learner}"
    )
    yield f"choice: {devices}, storage on {choice.storage}"
    why = " (a pair is refused)" if found.refused else ""
    yield f"portability Phi(D), equation 8: {figure_of(found.portability)} EPS{why}"
    for each in found.refused:
        yield f"not RM on {each.rm} with learner on {each.learner}: {each.reason}"
    for device in found.machine.devices:
        yield f"{device.name}: {device.source}"


def drawn(algo, found):
    """A PNG of an Assignment, as ``host.compose.grid.grid`` draws it: for experiences a second
    and, if all watts are known, for these a watt."""
    return _drawn(f"{algo}, batch {found.sizes.batch}, metric {found.metric}", found.machine.names,
                  found.machine.names, found.alternatives, found.choice)  # fmt: skip


def _drawn(title, rms, learners, alternatives, choice):
    panels = {"experiences a second": "eps"}
    if all(each.eps_per_watt is not None for each in alternatives if each.eps is not None):
        panels["experiences a second and watt"] = "eps_per_watt"
    values = {
        name: {(each.rm, each.learner): getattr(each, field) for each in reversed(alternatives)}
        for name, field in panels.items()
    }
    return grid(title, rms, learners, values, (choice.rm, choice.learner))


def show_plans(task, found, document, seven):
    """Prints a Composition of a Task as a table, with the choice first, and the sentences that
    explain it. ``document`` is that of ``plan_document``; ``seven`` has PEARL's equation 7."""
    watts = any(each.eps_per_watt for each in found.candidates)
    heads = ("RM", "learner", "kernel", "us", "updates/s", "EPS", *(("EPS/W",) if watts else ()),
             "bound by", "eq. 7 us")  # fmt: skip
    order = sorted(found.candidates, key=lambda each: (each is not found.choice, -(each.gps or 0)))
    rows = [
        [
            f"{'*' if each is found.choice else ' '} {each.rm or '-'}",
            each.learner,
            each.plan.design,
            figure_of(each.iteration_us),
            figure_of(each.gps),
            figure_of(each.eps),
            *((figure_of(each.eps_per_watt),) if watts else ()),
            each.iteration and each.iteration.bound_by,
            figure_of(seven.get((each.rm, each.learner))),
        ]
        for each in order
    ]
    config, updates = task.config, found.choice.updates
    table(
        f"{config.algo} on {config.env}, batch {task.batch}, an experience of {task.words} words: "
        f"one gradient step with {task.steps_of_update(updates):.4g} environment steps; metric "
        f"{document['metric']}",
        heads,
        rows,
    )
    for line in _plan_sentences(found, document):
        console.print(line, soft_wrap=True, markup=False, highlight=False)


def _plan_sentences(found, document):
    choice, mapping = found.choice, document["mapping"]
    if choice.rm is None:
        yield f"choice: learner on {choice.learner}, kernel {choice.plan.design}"
    else:
        setting = f"setting {mapping['setting']} of PEARL"
        yield (
            f"choice: RM on {choice.rm}, learner on {choice.learner} ({setting}); Algorithm 1 has "
            f"the data on {choice.storage}, a run has them on {choice.rm}"
        )
    if choice.clocks is not None:
        parts = choice.iteration
        busy = 100 * parts.card / parts.whole
        yield f"the card takes {choice.clocks:.0f} clocks a launch, and is busy {busy:.0f} % of it"
    if (proof := document["task"].get("proof")) is not None:
        yield f"{document['task']['trainer']}: {proof}"
    for each in found.candidates:
        if each.source != MEASURED:
            yield f"{each.plan.name}: {each.source}"
    for each in found.refused:
        rm = f"RM on {each.rm} with " if each.rm else ""
        yield f"not {rm}learner on {each.learner}: {each.reason}"
    if (acts := document["actors"]) is not None:
        yield (
            f"{acts['actors']} actors: {acts['actor_us']:.4g} us an environment step, and for a "
            f"message of {acts['steps']} steps {acts['driver_us']:.4g} us here and "
            f"{acts['message_us']:.4g} us on its way ({acts['source']})"
        )
    profile = document["profile"]
    yield f"software: times on {profile['processor']}, {profile['cores']} cores"
    for device in document["machine"]["devices"]:
        yield f"{device['name']}: {device['source']}"


def drawn_plans(task, found):
    """A PNG of a Composition, as ``drawn``; of several kernels for a pair the fastest counts."""
    known = sorted((each for each in found.candidates if each.gps), key=lambda each: -each.gps)
    rms, learners = (
        tuple(dict.fromkeys(getattr(each, name) or "-" for each in found.candidates))
        for name in ("rm", "learner")
    )
    config = task.config
    return _drawn(f"{config.algo} on {config.env}, batch {task.batch}", rms, learners, known,
                  found.choice)  # fmt: skip
