"""The program of a plan: a training loop as a person would have written it, of public names alone
(PEARL, section IV-D, Listing 2)."""

import os
import re
import textwrap
from dataclasses import fields
from importlib.metadata import version
from pathlib import Path

from boards.templates import Code, docstring, literal, render
from host.compose.plan_file import PROGRAM, proof_of
from host.environments.environment_id import reward_threshold
from host.kernels import generate
from host.replay.cpu_memories import memory_on_cpu
from host.runs.replay_runs import learner_of
from host.settings import flat
from hw.config import ConfigBase

__all__ = ["LINES", "program", "program_files", "write_kernel"]

_KERNELS = "kernels"

#: Most lines of a program.
LINES = 80
#: An agent with so many fields that the program would be longer.
_READ = 'json.loads(Path(__file__).with_name("plan.json").read_text())["config"]["agent"]'

#: What a program may use of the standard library, in the order of its imports.
_IMPORTS = {
    "json.loads": "import json",
    "deque": "from collections import deque",
    "closing": "from contextlib import ExitStack, closing",
    "Path": "from pathlib import Path",
}
_WIDTH = 100


def program_files(plan, document, board, folder):
    """The files of the program of a Plan, bytes by name: ``train.py`` and ``README.md``.

    ``document`` is the ``plan_document``, which must be beside them in ``folder`` as ``plan.json``;
    ``board`` is that of the kernel, which ``write_kernel`` writes.
    """
    kernel, path = document["kernel"], None
    if kernel is not None:
        path = f"{_KERNELS}/{board}/{kernel['name']}/kernel.json"
    values = dict(title=_title(document), plan=document, kernel=path, board=board)
    values |= dict(proof=proof_of(document))
    readme = render(__package__, "README.md", **values)
    text = program(plan, document, path, folder)
    return {PROGRAM: text.encode(), "README.md": readme.encode()}


def write_kernel(folder, document, board, *, overwrite=False):
    """Writes the kernel of a plan, if it has one, below ``folder``, as
    ``host.kernels.generate`` does."""
    if (kernel := document["kernel"]) is not None:
        values = dict(overwrite=overwrite, library=False, **flat(kernel["config"]))
        generate(kernel["name"], board, Path(folder) / _KERNELS, **values)


def program(plan, document, kernel, folder):
    """The text of the program of a Plan, at most 80 lines. Equal plans give equal bytes.

    plan : Plan
    document : dict
        The plan's ``plan_document``.
    kernel : str or None
        Path of the kernel's ``kernel.json``, from the program's folder; None without a kernel.
    folder : path
        The program's folder. A trainer's file is named relative to it.
    """
    config = plan.config
    values = dict(
        title=docstring(textwrap.fill(_title(document), _WIDTH - 3)),
        version=version("rlfabric"),
        hash=document["hash"],
        config=config,
        names=Code(_names(config, folder)),
        kernel=kernel,
        on_card=config.learner == "card",
        threshold=_threshold(config),
        fixed=", fixed=True" if config.actor_order == "fixed" else "",
        agent=Code(_filled(config.agent)),
        proof=_wrapped(proof_of(document)),
    )
    several = values["several"] = _in_flight(config) > 1
    both = ("flying.append(", "flying.popleft()") if several else ("launch = ", "launch")
    values["flight"], values["landed"] = both
    if config.LEARNS_FROM == "replay":
        values |= _of_replay(config)
    text = _rendered(f"{config.LEARNS_FROM}.py", **values)
    if text.count("\n") > LINES:
        text = _rendered(f"{config.LEARNS_FROM}.py", **{**values, "agent": Code(_READ)})
    return text


def _wrapped(text):
    """A paragraph of the program's docstring; None without a text."""
    return text and docstring(textwrap.fill(f"{text[0].upper()}{text[1:]}.", _WIDTH - 3))


def _rendered(template, **values):
    """The text of a template, with the imports of what it uses."""
    body = render(__package__, template, imports=(), rlfabric=False, **values)
    return render(
        __package__,
        template,
        imports=[line for name, line in _IMPORTS.items() if re.search(rf"\b{name}\(", body)],
        rlfabric="rlfabric." in body,
        **values,
    )


def _title(document):
    """A sentence that says what runs where."""
    config, mapping = document["config"], document["mapping"]
    what = f"{config['algo']} on {config['env']}"
    acts = f"{config.get('actors') or ''} actors on {mapping['act']}".strip()
    if mapping["rm"] is None:
        return f"{what}: learner on {mapping['learner']}, {acts}."
    places = (
        f"replay memory and learner on {mapping['rm']}"
        if mapping["rm"] == mapping["learner"]
        else f"replay memory on {mapping['rm']}, learner on {mapping['learner']}"
    )
    return f"{what}: {places}, {acts} (setting {mapping['setting']})."


def _of_replay(config):
    learner = learner_of(config.kernel)
    others = {"launches_in_flight": 1, "weights_interval": 1, "act": "cpu"}
    return dict(
        memory=None if config.memory == "card" else memory_on_cpu(config.memory).__name__,
        learner=learner.__name__,
        runtime=learner.BUFFER.__name__,
        sent=learner.SENT.__name__ if config.learner == "card" else None,
        launches=Code(
            "".join(
                f", {name}={_literal(getattr(config, name))}"
                for name, usual in others.items()
                if getattr(config, name) != usual
            )
        ),
    )


def _in_flight(config):
    """Most launches of the run that are under way."""
    return getattr(config, "populations", getattr(config, "launches_in_flight", 1))


def _names(config, folder):
    name, env = config.algo, _literal(config.env)
    file, _, kind = name.rpartition(":")
    if file.endswith(".py"):  # a trainer, which is found wherever the program is called
        path = os.path.relpath(os.path.realpath(file), os.path.realpath(folder))
        lines = [f"TRAINER = {_literal(f'{path}:{kind}')}"]
        lines += [f"ALGORITHM, ENV = rl.algorithm(TRAINER, program=__file__), {env}"]
        return "\n".join([*lines, "ALGO = ALGORITHM.name"] if config.actors else lines)
    if config.actors:  # which find the algorithm by its name
        return f"ALGO = {_literal(name)}\nALGORITHM, ENV = rl.algorithm(ALGO), {env}"
    one = f"ALGORITHM, ENV = rl.algorithm({_literal(name)}), {env}"
    return one if len(one) <= _WIDTH else f"ALGORITHM = rl.algorithm({_literal(name)})\nENV = {env}"


def _threshold(config):
    """The mean return at which the run ends; None if it does not."""
    if not config.until_solved:
        return None
    return reward_threshold(config.env) if config.threshold is None else config.threshold


def _filled(agent):
    """A call of ``dict`` with the fields of an agent's config that are not their defaults."""
    items = [
        f"{field.name}={_literal(getattr(agent, field.name))}"
        for field in fields(agent)
        if getattr(agent, field.name) != field.default
    ]
    if len(line := f"AGENT = dict({', '.join(items)})") <= _WIDTH:
        return line.removeprefix("AGENT = ")
    lines, open_ = [], ""
    for item in items:
        if len(open_) + len(item) > _WIDTH - 6:
            lines, open_ = [*lines, open_], ""
        open_ += f" {item}," if open_ else f"{item},"
    inner = "\n".join(f"    {line}" for line in [*lines, open_])
    return f"dict(\n{inner}\n)  # fmt: skip"


def _literal(value):
    """``value`` as ruff writes it; a config as the dict of its fields."""
    if isinstance(value, ConfigBase):
        return _literal(value.to_dict())
    if isinstance(value, str):
        return literal(value)
    if isinstance(value, tuple):
        inner = ", ".join(map(_literal, value))
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_literal(k)}: {_literal(v)}" for k, v in value.items()) + "}"
    return repr(value)
