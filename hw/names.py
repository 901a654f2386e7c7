"""Rules for names and texts that come from a file.

A file may be a stranger's: a folder with a bitstream, a run, a machine's CSV. A name in it must not
lead out of the file's folder, nor become a command where it enters a script.
"""

import re
from dataclasses import dataclass
from pathlib import Path

from hw.errors import UsageError

__all__ = ["LABEL", "WORD", "Name", "check_no_links", "inside"]


@dataclass(frozen=True)
class Name:
    """A rule in the manner of ``host.rules``: a text that is all of ``pattern``. ``words`` says the
    same in words."""

    words: str
    pattern: str

    def check(self, name, value):
        """UsageError, which begins with ``name``, unless ``value`` follows the rule."""
        if not isinstance(value, str) or not re.fullmatch(self.pattern, value):
            raise UsageError(f"{name} must be {self.words}, not {value!r}")

    def __str__(self):
        return self.words


#: One word in Verilog, C++, Tcl and a shell alike.
WORD = Name("a word of letters, digits and underscores", r"[A-Za-z_][A-Za-z0-9_]{0,254}")
#: A name that people give, to a file too: "." and ".." are folders, "-x" is a tool's option.
LABEL = Name(
    "a name of letters, digits, dots, dashes and underscores, not . or .. or begun by a dash",
    r"(?!-|\.{1,2}\Z)[\w.-]{1,255}",
)


def inside(folder, name, field):
    """The Path of the file called ``name`` in ``folder``, or in a folder in it.

    ``name`` is one that a file has, by its ``field``. UsageError unless it is a plain relative path
    that stays in ``folder``, also where a folder on its way is a link.
    """
    folder = Path(folder)
    plain = isinstance(name, str) and name.isprintable() and name not in ("", ".")
    parts = name.split("/") if plain else []
    if not parts or {"", ".", ".."} & {*parts} or "\\" in name or len(name) > 1024:
        raise UsageError(f"{field} must be a name in its folder, not {name!r}")
    path = folder.joinpath(*parts)
    if not path.parent.resolve().is_relative_to(folder.resolve()):
        raise UsageError(f"{field} must be in its folder, not behind a link: {name!r}")
    return path


def check_no_links(folder, field="out"):
    """UsageError if ``folder`` has an entry that is a link: what is written there would be written
    elsewhere. A folder that does not exist has none."""
    folder = Path(folder)
    for path in folder.iterdir() if folder.is_dir() else ():
        if path.is_symlink():
            raise UsageError(f"{field} must be a folder without links, not {folder}: {path.name}")
