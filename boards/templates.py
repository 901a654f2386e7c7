"""The templates of a board or of a flow: jinja2 files beside its Python."""

from importlib.metadata import version
from importlib.resources import files

import jinja2

__all__ = ["heading", "render", "training"]


def heading(description, board):
    """First line of a generated file."""
    return (
        f"{description.name} on {board.title}, rlfabric {version('rlfabric')}, "
        f"config hash {description.config_hash:#018x}"
    )


#: Design -> how a training is asked for that runs on its kernel, and the fields of its config that
#: the run must have too.
_TRAINING = {
    "replay": ("dqn --learner cpu", ("replay.capacity",)),
    "dqn": ("dqn --learner card", ("replay.capacity", "learner.hidden")),
    "ddpg": ("ddpg --learner card", ("replay.capacity", "learner.hidden")),
    "gae": ("ppo", ("gae.code_width", "gae.result_width")),
}


def training(description, board, card):
    """The command that trains with the described kernel on ``card``; None for a design of which no
    host program is known."""
    if description.name not in _TRAINING:
        return None
    run, fields = _TRAINING[description.name]
    words = [f"rlfabric train {run} --board {board.name} --card {card}"]
    for field in fields:
        value = description.config
        for part in field.split("."):
            value = value[part]
        text = ",".join(map(str, value)) if isinstance(value, (list, tuple)) else value
        words.append(f"--set {part}={text}")
    return " ".join(words)


def render(package, name, **values):
    """Text of the template ``name``.j2 of the package ``package``; a value it lacks is an error."""

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
