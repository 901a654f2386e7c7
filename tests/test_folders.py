"""The folders inside a package import each other one way."""

from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from tests.test_architecture import HW_ARROWS, ROOT, files, imported

#: Every package of hw, host, the twins and what they have in common.
PACKAGES = [f"hw/{name}" for name in HW_ARROWS] + ["host", "sim/model"]
PACKAGES += [f"sim/model/{name}" for name in HW_ARROWS if files(f"sim/model/{name}")]


def folders_needed(package, sources):
    """``{folder: the folders that it imports}`` inside ``package``, of ``{path in it: source}``. A
    file that is in no folder may import them and be imported by them."""
    needed = {path.parts[0]: set() for path in sources if len(path.parts) > 1}
    for path, source in sources.items():
        if len(path.parts) > 1:
            modules = [module.removeprefix(f"{package}.") for _, module in imported(source)]
            others = {module.split(".")[0] for module in modules} & {*needed}
            needed[path.parts[0]] |= others - {path.parts[0]}
    return needed


def circle(needed):
    """Folders that import each other in a circle, or None."""
    try:
        TopologicalSorter(needed).prepare()
    except CycleError as error:
        return error.args[1]


@pytest.mark.parametrize("package", PACKAGES)
def test_folders_import_each_other_one_way(package):
    sources = {path.relative_to(ROOT / package): path.read_text() for path in files(package)}
    needed = folders_needed(package.replace("/", "."), sources)
    assert not circle(needed)


@pytest.mark.parametrize(
    "sources, found",
    [
        ({"a/x.py": "import p.b.y", "b/y.py": "import p.c", "c/z.py": "import p.top"}, False),
        ({"a/x.py": "import p.b.y", "b/y.py": "import p.c.z", "c/z.py": "import p.a.x"}, True),
        ({"a/x.py": "from p.b.y import c", "b/y.py": "def f():\n    import p.a.x"}, True),
        ({"a/x.py": "import p.top", "top.py": "import p.a.x"}, False),
        (
            {"a/x.py": "import p.a.y", "a/y.py": "import p.a.x, q.b.x", "b/x.py": "import p.a"},
            False,
        ),
    ],
)
def test_the_check_itself(sources, found):
    assert bool(circle(folders_needed("p", {Path(k): v for k, v in sources.items()}))) == found
