"""The templates of a board or of a flow: jinja2 files beside its Python.

Every text that enters a template passes the filter of the template's language, once, in ``render``.
Code of that language is ``Code``.
"""

import html
import json
import re
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from typing import NamedTuple

import jinja2

from boards.memory import configured
from hw.errors import UsageError
from hw.suggest import written

__all__ = ["Code", "Run", "docstring", "heading", "literal", "render", "training"]


class Code(str):
    """A text that is code of a template's language, and enters it as it is."""


def literal(text):
    """The Code of a Python literal of ``text``, in double quotes where that is possible."""
    return Code(json.dumps(text, ensure_ascii=False) if text.isprintable() else repr(text))


def docstring(text):
    """The Code of ``text`` inside a docstring of Python."""
    lines = (_printable(line) for line in text.splitlines())
    return Code("\n".join(lines).replace("\\", "\\\\").replace('"', '\\"'))


def _printable(text):
    return "".join(char if char.isprintable() else " " for char in text)


_ENTITIES = str.maketrans({"|": "&#124;", "<": "&lt;", "`": "&#96;", "\\": "&#92;"})
#: End of a template's name -> what no text in it may have, for it would end a string or a comment,
#: or be replaced.
_FORBIDDEN = {
    ".py": r"""["'\\{}]""",
    ".tcl": r"""["\\$\[\]{};]""",
    "Makefile": r"""["'\\$#`;|&<>]""",
    ".cfg": r"""["'\\$#;=]""",
}
_CONTROL = r"[^\x20-\x7e\x80-\U0010ffff]"


def _filter(name):
    """The function through which each value goes that the template ``name`` shows."""

    def passed(value):
        if not isinstance(value, str) or isinstance(value, Code):
            return value
        if name.endswith(".md"):
            return _printable(value).translate(_ENTITIES)
        if name.endswith(".xml"):
            return html.escape(_printable(value).replace("--", "- -"))
        wrong = next((rule for end, rule in _FORBIDDEN.items() if name.endswith(end)), None)
        wrong = f"{wrong}|{_CONTROL}" if wrong else _CONTROL  # a board's own kinds of files
        if found := re.search(wrong, value):
            raise UsageError(f"text in {name} must be without {found[0]!r}, not {value!r}")
        return value

    return passed


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
    settings = known and known.settings_of(config)
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
    return Run(Code(" ".join(words)), Code(" ".join(note)))


def render(package, name, **values):
    """The text that the template ``<name>.j2`` of the package ``package`` gives with ``values``.

    Texts among the values are escaped in Markdown and XML; in scripts UsageError refuses those that
    would not stay texts. If the template uses a value that is not given, it raises
    ``jinja2.UndefinedError``.
    """
    return _template(package, name).render(values)


@cache
def _template(package, name):
    """The template, compiled once."""

    def read(other):
        return (files(package) / other).read_text(encoding="utf-8")

    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(read),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=_filter(name),
    )
    environment.filters |= {"code": Code, "literal": literal}
    return environment.get_template(f"{name}.j2")
