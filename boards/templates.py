"""The templates of a board or of a flow: jinja2 files beside its Python."""

from importlib.metadata import version
from importlib.resources import files

import jinja2

__all__ = ["heading", "render"]


def heading(description, board):
    """First line of a generated file."""
    return (
        f"{description.name} on {board.title}, rlfabric {version('rlfabric')}, "
        f"config hash {description.config_hash:#018x}"
    )


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
