"""Command lines: to run one, and every `rlfabric ...` of README, docs and `--help` as words.

Those of docs/learning are written by ``bench.learning.documents``, and have a test beside it.
"""

import re
from pathlib import Path

from typer.main import get_command
from typer.testing import CliRunner

from host.cli.app import app
from host.terminal.exit_codes import report

__all__ = ["COMMANDS", "invoke", "lines", "parsed", "words_of"]

_ROOT = Path(__file__).parents[2]

COMMANDS = get_command(app).commands

#: what a line may leave open -> one that it may be
_OPEN = {
    "ALGO": "dqn",
    "ENV": "CartPole-v1",
    "NAME": "heppo2",
    "N": "1",
    "FIELD=VALUE": "gamma=0.9",
    "<design>": "replay",
    "<name>": "u50",
}


def invoke(*words, code=0):
    """What ``rlfabric`` prints on standard output for ``words``; with an exit ``code``, its error
    message."""
    found = CliRunner().invoke(app, [str(word) for word in words])
    if code:
        assert report(found.exception) == code, found.exception
        return str(found.exception)
    assert found.exit_code == 0, (found.output, found.exception)
    return found.stdout


def lines():
    """``{line: where}``, each line once, with single spaces."""
    pages = [path for path in _ROOT.glob("docs/**/*.md") if path.parent.name != "learning"]
    texts = {path.relative_to(_ROOT): path.read_text() for path in pages}
    texts[Path("README.md")] = (_ROOT / "README.md").read_text()
    texts |= {f"{name} --help": command.help for name, command in COMMANDS.items()}
    texts["--help"] = app.info.help
    found = {}
    for where, text in texts.items():
        for line in re.findall(r"`(rlfabric [^`]+)`|^\$ (rlfabric .+)$", text, re.M):
            found.setdefault(" ".join("".join(line).split()), str(where))
    return found


def words_of(line):
    """The words of a line, without its name; the first of alternatives, all that is optional."""
    text = re.sub(r"\[(--[^]]+)\]", r"\1", line.removeprefix("rlfabric "))
    words = [re.sub(r"\[.*\]$", "", word.split("|")[0]) for word in text.split()]
    return [_OPEN.get(word, word) for word in words]


def parsed(words):
    """Parse the words; raises what the command line would say of them."""
    flags = [word for word in words[:1] if word.startswith("-")]
    group = get_command(app)
    group.make_context("rlfabric", [*flags, "list"])
    name, *rest = words[len(flags) :] or ["list"]
    command = COMMANDS[name]
    return command.make_context(name, rest)
