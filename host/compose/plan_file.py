"""``plan.json``, a plan that ``rlfabric train`` runs, with all that was considered; its folder."""

import hashlib
import json
import sys
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path

from hw.errors import MissingTool, UsageError
from system.cache import say

__all__ = ["GRID", "PLAN", "PROFILE", "PROGRAM", "check_free", "plan_document", "proof_of"]
__all__ += ["say_proof", "text_of", "write"]

#: The plan's file, and the others of its folder: its profile, its program, its picture.
PLAN, PROFILE, PROGRAM, GRID = "plan.json", "profile.json", "train.py", "grid.png"
#: A file that may have been written for another plan, or changed -> what it is.
_KEPT = {PLAN: "plan", PROGRAM: "program"}
_DIGITS = 3


def plan_document(task, machine, found, sizes, *, metric, equation7, profile, acting=None):
    """A Composition as a dict for JSON. It has no path and no date, so that equal inputs give equal
    bytes.

    Parameters
    ----------
    task, machine, found, sizes : Task, Machine, Composition, Sizes
    metric : str
    equation7 : ``{(rm, learner): microseconds}`` by PEARL.
    profile : dict
        Of what machine the profile is (``host.compose.profile.here``): its processor does all that
        is software, whatever the cpu of ``machine``.
    acting : ActorTimes, optional
        What actors take.

    Keys: ``version``; ``hash`` of all other keys; ``config``, the RunConfig of the choice, and
    ``kernel``, its name and config or None, as in a run's summary.json; ``board`` of the machine's
    card, None without one and for the twin; ``machine``; ``profile``; ``mapping`` with devices of
    the parts; ``actors``, the ActorTimes or None; ``metric``; ``predicted`` for the choice;
    ``sizes``;
    ``alternatives`` with all plans whose devices exist, and ``refused`` with those that cannot run.
    ``task`` has ``proof``, the statement that was proved of a trainer, with its limits, if a card
    may train in its place. All times but those of ``actors`` are microseconds of a
    gradient step.
    """
    choice = found.choice
    document = {
        "version": version("rlfabric"),
        "config": json.loads(choice.plan.config.to_json()),
        "kernel": _kernel(choice),
        "board": machine.card and machine.card.board,
        "machine": asdict(machine),
        "profile": profile,
        "mapping": _mapping(machine, choice),
        "actors": acting and asdict(acting),
        "metric": metric,
        "predicted": {**_figures(choice), "parts": _parts(choice)},
        "sizes": asdict(sizes),
        "task": {
            "uniform": task.uniform,
            "steps_per_update": task.steps_of_update(choice.updates),
            "trainer": task.trainer and task.trainer.name,
            **_proof(task),
        },
        "alternatives": [
            {
                "rm": each.rm,
                "learner": each.learner,
                "storage": each.storage,
                "kernel": each.plan.design,
                "equation7_us": _rounded(equation7.get((each.rm, each.learner))),
                "chosen": each is choice,
                **_figures(each),
            }
            for each in found.candidates
        ],
        "refused": [each._asdict() for each in found.refused],
    }  # fmt: skip
    text = json.dumps(document, sort_keys=True)
    return document | {"hash": hashlib.sha256(text.encode()).hexdigest()[:12]}


def proof_of(document):
    """The statement that was proved of the trainer in whose place a plan trains on a card; None if
    it does not. ``document`` is a ``plan_document``, or a part from a file. UsageError if the
    statement is no line of text."""
    task, config = document.get("task"), document.get("config")
    if not isinstance(task, dict) or not isinstance(config, dict) or "proof" not in task:
        return None
    text = task["proof"]
    if not isinstance(text, str) or not text.isprintable():
        raise UsageError(f"task.proof must be a line of text, not {text!r}")
    return text if config.get("learner") == "card" else None


def _proof(task):
    return {"proof": task.trainer.proof} if task.trainer and task.trainer.proof else {}


def _kernel(choice):
    if choice.kernel is None:
        return None
    return {"name": choice.plan.design, "config": json.loads(choice.kernel.to_json())}


def _mapping(machine, choice):
    """Devices by name. A run has its experiences where its replay memory is, whatever place
    Algorithm 1 finds for them; setting 2 is PEARL's, with both parts on one device;
    rm, storage and setting are None without a replay memory."""
    config = choice.plan.config
    acts = choice.learner if getattr(config, "act", "cpu") == "card" else machine.cpu.name
    return {
        "rm": choice.rm,
        "learner": choice.learner,
        "act": acts,
        "storage": choice.storage,
        "storage_run": choice.rm,
        "setting": choice.rm and (2 if choice.rm == choice.learner else 1),
    }


def _figures(candidate):
    """What is predicted of a candidate; None where its time is not known."""
    iteration = candidate.iteration
    return {
        "iteration_us": _rounded(candidate.iteration_us),
        "bound_by": iteration and iteration.bound_by,
        "gps": _rounded(candidate.gps),
        "eps": _rounded(candidate.eps),
        "watts": candidate.watts,
        "eps_per_watt": _rounded(candidate.eps_per_watt),
        "launch_clocks": _rounded(candidate.clocks),
        "source": candidate.source,
    }


def _parts(candidate):
    """The parts of the iteration, in microseconds of a gradient step."""
    parts = asdict(candidate.iteration)
    beside = parts.pop("beside")
    found = {name: _rounded(value / candidate.updates) for name, value in parts.items()}
    return found | {"beside": beside}


def _rounded(value):
    return None if value is None else round(value, _DIGITS)


def say_proof(file, config):
    """Prints what a plan in ``file`` says of a proof, if a card trains by ``config`` in place of a
    trainer."""
    from host.runs.request import read_json

    proof = proof_of(read_json(file))
    if proof is not None and getattr(config, "learner", None) == "card":
        say(proof)


def text_of(document):
    """The document as JSON with sorted keys; no path and no date is in it, so that equal inputs
    give equal bytes."""
    return json.dumps(document, indent=2, sort_keys=True) + "\n"


def check_free(out, files, replaced=()):
    """UsageError if a plan or a program is in the folder ``out`` that is none of ``files``, bytes
    by name, nor named in ``replaced``."""
    for name, what in _KEPT.items():
        path, judged = Path(out) / name, name in files and name not in replaced
        if judged and path.is_file() and path.read_bytes() != files[name]:
            raise UsageError(f"out must have no other {what}, not {path} (--overwrite replaces it)")


def write(out, files, draw):
    """Writes ``files``, bytes by name, and the picture that ``draw`` gives, to the folder
    ``out``."""
    from host.kernels.kernel_folder import write_files

    try:
        files = {**files, GRID: draw()}
    except MissingTool as missing:
        print(f"rlfabric: {GRID} is not drawn: {missing}", file=sys.stderr)
    write_files(out, files)
