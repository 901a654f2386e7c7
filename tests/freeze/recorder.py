"""A plugin of pytest that writes down the text of every error of rlfabric that a test expects.

``collect`` runs the quick tests that expect errors, and gives the texts. Paths and other parts that
differ from run to run are replaced; tests of hypothesis, whose examples are drawn, are left out.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from hw.errors import RlfabricError

__all__ = ["collect"]

ROOT = Path(__file__).parents[2]
_FILE = "RLFABRIC_FREEZE_ERRORS"
#: Longer texts, which have another program's words, are cut off.
_LENGTH = 160
_found = set()
_CHANGING = (
    (re.compile(r"(?:\.\./)+[^\s'\",:;)\]]+|(?<![\w.])/[^\s'\",:;)\]]+"), "PATH"),
    (re.compile(r"127\.0\.0\.1:\d+"), "ADDRESS"),
    (re.compile(r"make\[1\]: \w+ directory 'PATH' "), ""),
    (re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d"), "TIME"),
    (re.compile(r"digest [0-9a-f]{12}"), "digest DIGEST"),
    (re.compile(r"\b(line|step|actor) \d+|\.v:\d+:\d+"), r"\1 NUMBER"),
    (re.compile(r"0x[0-9a-f]{6,}"), "ADDRESS"),
    (re.compile(r"\b\d+(\.\d+)? ?(s|ms|us|GiB|GB|MiB)\b"), r"NUMBER \2"),
    (re.compile(r"(pid|process|port) \d+"), r"\1 NUMBER"),
)


def _plain(text):
    for pattern, word in _CHANGING:
        text = pattern.sub(word, text)
    return " ".join(text.split())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """Adds a test's texts to those of this process."""
    if _FILE not in os.environ or getattr(item.obj, "is_hypothesis_test", False):
        return (yield)
    kind = type(pytest.raises(ValueError))
    plain = kind.__exit__

    def recorded(self, *exception):
        if isinstance(exception[1], RlfabricError):
            _found.add(f"{exception[0].__name__}: {_plain(str(exception[1]))}"[:_LENGTH])
        return plain(self, *exception)

    kind.__exit__ = recorded
    try:
        return (yield)
    finally:
        kind.__exit__ = plain


def pytest_sessionfinish():
    """Writes the texts: at the end, for a test may have made the disk full."""
    if _FILE in os.environ:
        text = "".join(f"{each}\n" for each in sorted(_found))
        Path(f"{os.environ[_FILE]}.{os.getpid()}").write_text(text, encoding="utf-8")


def collect(folder):
    """The sorted texts; ``folder`` is for files in between."""
    here, every = Path(__file__).parent, (ROOT / "tests").rglob("test_*.py")
    tests = [path for path in every if path.parent != here and "raises(" in path.read_text()]
    words = [sys.executable, "-m", "pytest", "-p", "tests.freeze.recorder", "-n", "2", "-q"]
    words += ["-m", "not long and not bench", "--no-header", "-p", "no:cacheprovider", *tests]
    done = subprocess.run(
        words, cwd=ROOT, env=os.environ | {_FILE: str(folder / "errors")}, capture_output=True,
        text=True,
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(f"the tests must pass:\n{done.stdout[-4000:]}")
    files = folder.glob("errors.*")
    return sorted({line for file in files for line in file.read_text("utf-8").splitlines()})
