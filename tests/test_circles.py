"""No two files of a package need each other."""

import pytest

from tests.test_architecture import ARROWS, ROOT, files, imported


def circle(sources):
    """Modules of ``{module: source}`` that import each other in a circle, and those between
    circles."""
    needed = {
        name: {module for _, module in imported(source)} & {*sources} - {name}
        for name, source in sources.items()
    }
    while True:
        inner = set().union(*needed.values()) & {name for name in needed if needed[name]}
        if inner == {*needed}:
            return sorted(inner)
        needed = {name: needed[name] & inner for name in inner}


@pytest.mark.parametrize("package", ARROWS)
def test_no_circles(package):
    """Imports inside functions count: no file needs a file that needs it."""
    paths = {".".join(p.relative_to(ROOT).with_suffix("").parts): p for p in files(package)}
    assert not circle({name: path.read_text() for name, path in paths.items()})


@pytest.mark.parametrize(
    "imports, found",
    [
        ({"a.a": "a.b", "a.b": "a.c", "a.c": "x.y"}, []),
        ({"a.a": "a.b", "a.b": "a.c", "a.c": "a.b", "a.d": "a.a"}, ["a.b", "a.c"]),
        ({"a.a": "a.a", "a.b": "a.a"}, []),
    ],
)
def test_the_check_of_circles_itself(imports, found):
    sources = {name: f"def f():\n    import {other}" for name, other in imports.items()}
    assert circle(sources) == found
