"""The templates of a board or of a flow: jinja2 files beside its Python."""

from importlib.metadata import version
from importlib.resources import files
from typing import NamedTuple

import jinja2

from boards.memory import configured
from hw.suggest import written

__all__ = ["Run", "heading", "render", "training"]


def heading(description, board):
    """The first line of a generated file: design, board, version of rlfabric and config hash."""
    return (
        f"{description.name} on {board.title}, rlfabric {version('rlfabric')}, "
        f"config hash {description.config_hash:#018x}"
    )


class Run(NamedTuple):
    """How to train with a kernel: ``command`` is the line to type, ``note`` a text of sentences
    about what it needs."""

    command: str
    note: str


def training(description, board, card):
    """The ``Run`` that trains with the described kernel on ``card``; None if no host program trains
    with this design, or with this config of it."""
    design, config = configured(description)
    known = design.training
    settings = known and known.settings(config)
    if not settings:
        return None
    words, sizes = [f"rlfabric train {known.words}"], known.sizes(config)
    if known.task:
        words.append(f"--env {known.environments.get(sizes, 'ENV')}")
    words.append(f"--board {board.name} --card {card}")
    words += [f"--set {name}={written(value)}" for name, value in settings.items()]
    note = [
        "The values after `--set` are those of this kernel: other values need another kernel. "
        f"`rlfabric bitstream {design.name} --board {board.name} --for-run RUN` makes the kernel "
        "of a run, from its folder or its `summary.json`."
    ]
    if known.task:
        note.insert(0, f"The environment must have {known.task.format(*sizes)}.")
    if known.needs:
        note.append(known.needs)
    return Run(" ".join(words), " ".join(note))


def render(package, name, **values):
    """The text that the template ``<name>.j2`` of the package ``package`` gives with ``values``.

    If the template uses a value that is not given, it raises ``jinja2.UndefinedError``.
    """

    def read(other):
        return (files(package) / other).read_text()

    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(read),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template(f"{name}.j2").render(values)
