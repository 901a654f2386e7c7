"""``plan.json``: a plan that ``rlfabric train`` runs, with all that was considered."""

import hashlib
import json
from dataclasses import asdict
from importlib.metadata import version

__all__ = ["PLAN", "PROFILE", "plan_document"]

#: The files of a composition.
PLAN, PROFILE = "plan.json", "profile.json"
_DIGITS = 3


def plan_document(task, machine, found, sizes, *, metric, equation7, board):
    """A Composition as a dict for JSON. It has no path and no date, so that equal inputs give equal
    bytes.

    Parameters
    ----------
    task, machine, found, sizes : Task, Machine, Composition, Sizes
    metric : str
    equation7 : ``{(rm, learner): microseconds}`` by PEARL.
    board : str or None
        The board of the card; None: the card is the twin.

    Keys: ``version``; ``hash`` of all other keys; ``config``, the RunConfig of the choice, and
    ``kernel``, its name and config or None, as in a run's summary.json; ``board``; ``machine``;
    ``mapping`` with devices of the parts; ``metric``; ``predicted`` for the choice; ``sizes``;
    ``alternatives`` with all plans whose devices exist, and ``refused`` with those that cannot run.
    Times are microseconds of a launch, of ``equation7_us`` of a gradient step.
    """
    choice = found.choice
    document = {
        "version": version("rlfabric"),
        "config": json.loads(choice.plan.config.to_json()),
        "kernel": _kernel(choice),
        "board": board,
        "machine": asdict(machine),
        "mapping": _mapping(machine, choice),
        "metric": metric,
        "predicted": {**_figures(choice, sizes), "parts": _parts(choice.iteration)},
        "sizes": asdict(sizes),
        "task": {"uniform": task.uniform, "steps_per_update": task.steps / choice.updates},
        "alternatives": [
            {
                "rm": each.rm,
                "learner": each.learner,
                "storage": each.storage,
                "kernel": each.plan.design,
                "equation7_us": _rounded(equation7.get((each.rm, each.learner))),
                "chosen": each is choice,
                **_figures(each, sizes),
            }
            for each in found.candidates
        ],
        "refused": [each._asdict() for each in found.refused],
    }  # fmt: skip
    text = json.dumps(document, sort_keys=True)
    return document | {"hash": hashlib.sha256(text.encode()).hexdigest()[:12]}


def _kernel(choice):
    if choice.kernel is None:
        return None
    return {"name": choice.plan.design, "config": json.loads(choice.kernel.to_json())}


def _mapping(machine, choice):
    """Devices by name. A run has its experiences where its replay memory is, whatever place
    Algorithm 1 finds for them; setting 2 is PEARL's, with both parts on one device."""
    config = choice.plan.config
    acts = choice.learner if getattr(config, "act", "cpu") == "card" else machine.cpu.name
    return {
        "rm": choice.rm,
        "learner": choice.learner,
        "act": acts,
        "storage": choice.storage,
        "storage_run": choice.rm,
        "setting": 2 if choice.rm == choice.learner else 1,
    }


def _figures(candidate, sizes):
    """What is predicted of a candidate; None where its time is not known."""
    iteration, gps = candidate.iteration, candidate.gps
    watts = candidate.watts
    return {
        "iteration_us": _rounded(iteration and iteration.whole),
        "bound_by": iteration and iteration.bound_by,
        "gps": _rounded(gps),
        "eps": _rounded(gps and gps * sizes.batch),
        "watts": watts,
        "eps_per_watt": _rounded(gps and watts and gps * sizes.batch / watts),
        "clocks": _rounded(candidate.clocks),
        "source": candidate.source,
    }


def _parts(iteration):
    return {
        name: value if isinstance(value, bool) else _rounded(value)
        for name, value in asdict(iteration).items()
    }


def _rounded(value):
    return None if value is None else round(value, _DIGITS)
