"""sim.compiled: what is compiled follows ``hw``, and is kept for the next process."""

import ast
import importlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
from math import log2
from pathlib import Path

import numpy as np
import pytest

from sim import compiled as module
from sim import sources as of_sources
from sim.compiled import sources
from sim.sources import imports

__all__ = ["folder", "hits", "module", "toy"]

ROOT = Path(__file__).parent.parent
DAY_S = 24 * 3600

#: File of hw -> (a constant of it, the same changed).
CHANGES = {
    "hw/arith/log2.py": ("LOG2_FORMAT = UQ(6, 20)", "LOG2_FORMAT = UQ(6, 18)"),
    "hw/arith/exp2.py": ("MANTISSA_FORMAT = UQ(1, 24)", "MANTISSA_FORMAT = UQ(1, 23)"),
    "hw/arith/power.py": ("SCALE_FORMAT = UQ(1, 15)", "SCALE_FORMAT = UQ(1, 14)"),
    "hw/replay/config.py": ("FRACTION_WIDTH = 48", "FRACTION_WIDTH = 46"),
    # The twin has it from ``standardize``, which makes a format of it.
    "hw/gae/layouts.py": tuple(f"NUMBER_WIDTH, FACTOR_WIDTH = {width}, 26" for width in (27, 25)),
}

#: Prints what five twins answer, and how many functions were compiled rather than found.
ASK = """
import json
import numpy as np
from hw.arith.exp2 import Exp2Config
from hw.arith.log2 import Log2Config
from sim.model.arith.interpolate import interpolate_one, parts
from sim.model.arith.log2 import log2_one
from sim.model.arith.power import power_one
from sim.model.arith.to_fixed import to_fixed_one
from sim.model.gae.intake.intake import _number
from sim.model.replay.tree.loops import scale

config = Log2Config()
answers = [
    log2_one(np.uint64(3), config.mantissa_width, parts(config.table)),
    to_fixed_one(1 << 24, 0, 8, 24, (1 << 24) - 1)[0],
    power_one(3 << 20, 1 << 15, parts(Exp2Config().table))[1],
    int(scale(np.uint64(1 << 40), np.uint64(1 << 40))),
    _number(np.float32(1e30), 1.0)[0],
]
asked = log2_one, to_fixed_one, power_one, scale, _number, interpolate_one
print(json.dumps([answers, sum(f.stats.cache_misses.total() for f in asked)]))
"""


def expected(changed):
    """What the constants say, worked out by hand."""
    return [
        round(log2(3) * 2 ** (18 if changed else 20)),
        2**9 if changed else 2**8,
        6 if changed else 3,
        2**34 if changed else 2**32,
        2 ** (24 if changed else 26) - 1,
    ]


def test_five_constants_change_and_change_back(tmp_path):
    """hw_core 1: a twin never answers by what a constant of hw was before."""
    for folder in ("hw", "system", "sim"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=lambda _, names: {"__pycache__"})

    def ask(changed):
        for number, (name, texts) in enumerate(CHANGES.items()):
            path, time_s = tmp_path / name, 1e9 + 10 * changed + number
            text = path.read_text()
            assert sum(text.count(f"\n{each}\n") for each in texts) == 1
            path.write_text(text.replace(texts[not changed], texts[changed]))
            # Python's own .pyc goes by the file's time: of each text its own, so that nothing
            # but what is compiled can be stale.
            os.utime(path, (time_s, time_s))
        done = subprocess.run(
            [sys.executable, "-c", ASK], cwd=tmp_path, capture_output=True, text=True, timeout=300,
            env={**os.environ, "PYTHONPATH": str(tmp_path), "RLFABRIC_BUILD": "own"},
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        answers, misses = json.loads(done.stdout)
        assert answers == expected(changed)
        return misses

    assert [ask(changed) for changed in (False, True, False)] == [6, 5, 0]


def imported(source, package):
    """``imports``, by Python's own parser."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = "." * node.level + (node.module or "")
            base = importlib.util.resolve_name(base, package)
            yield from (f"{base}.{alias.name}" for alias in node.names)


TEXTS = [
    "import a, b.c as d",
    "from a import b",
    "from a.b import (  # of (all)\n    c,\n    d as e,\n)",
    "def f():\n    from . import a\n    from .b.c import d; import e",
    "from a \\\n    import b, \\\n    c",
    "if True: import a",
]


@pytest.mark.parametrize("text", TEXTS)
def test_imports(text):
    found = set(imports(text, "of.package"))
    assert found >= set(imported(text, "of.package")) and len(found) < 5


def test_imports_of_twins():
    for path in [*(ROOT / "sim/model").rglob("*.py"), *(ROOT / "hw/arith").rglob("*.py")]:
        source, package = path.read_text(), ".".join(path.relative_to(ROOT).parent.parts)
        assert set(imports(source, package)) >= set(imported(source, package)), path


def test_twins_are_compiled_by_this_alone():
    """What numba itself keeps would be stale."""
    for path in [*(ROOT / "sim").rglob("*.py"), *(ROOT / "hw").rglob("*.py")]:
        alone = path.relative_to(ROOT).as_posix() == "sim/compiled.py"
        assert alone or not re.search(r"^\s*(import|from) numba", path.read_text(), re.M), path


FILES = {
    "toy/__init__.py": "from toy import first",
    "toy/first.py": "FIRST = 1",
    "toy/twin.py": "def f():\n    from .below.second import SECOND",
    "toy/below/__init__.py": "from toy.third import *",
    "toy/below/second.py": "import toy.fourth as fourth",
    "toy/third.py": "import other",
    "toy/fourth.py": "FOURTH = 4",
    "toy/apart.py": "import toy.twin",
    "other.py": "",
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Where modules are found, and ``kept`` in it, where what is compiled is."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(module, "FOLDER", tmp_path / "kept")
    yield tmp_path
    fresh()


def fresh():
    """As in a new process."""
    for name in [name for name in sys.modules if name.partition(".")[0] in ("toy", "other")]:
        del sys.modules[name]
    for each in (module._prepare, module._complain, sources, of_sources._read, of_sources._spec):
        each.cache_clear()
    importlib.invalidate_caches()


def test_sources(folder):
    """All that a module imports, however, and each ``__init__`` on the way; nothing else."""
    for name, text in FILES.items():
        (folder / name).parent.mkdir(exist_ok=True, parents=True)
        (folder / name).write_text(text)
    seen = {sources("toy.twin")}
    for name in FILES:
        times = os.stat(folder / name)
        (folder / name).write_text(FILES[name] + "\n# changed")
        os.utime(folder / name, ns=(times.st_atime_ns, times.st_mtime_ns))
        fresh()
        assert (sources("toy.twin") in seen) == (name in ("toy/apart.py", "other.py")), name
        seen.add(sources("toy.twin"))
    for name, text in FILES.items():
        (folder / name).write_text(text)
    fresh()
    assert sources("toy.twin") in seen
    with pytest.raises(ValueError, match="toy.none must be a module with a source"):
        sources("toy.none")


TOY = """
from sim.compiled import compiled, elementwise
FACTOR = {factor}
@compiled
def times(x):
    return FACTOR * x
@elementwise
def each_times(x):
    return times(x)
"""


def toy(folder, factor=3):
    """``times`` of a module, imported anew."""
    (folder / "toy.py").write_text(TOY.format(factor=factor))
    shutil.rmtree(folder / "__pycache__", ignore_errors=True)
    fresh()
    return importlib.import_module("toy").times


def hits(function):
    return function.stats.cache_hits.total()


def test_what_runs_counts_and_not_the_text_of_now(folder):
    """A source that is changed between its import and the first call."""
    times = toy(folder, 3)
    (folder / "toy.py").write_text(TOY.format(factor=5))
    assert times(7) == 21
    times = toy(folder, 5)
    assert times(7) == 35 and not hits(times)


def test_the_sources_count(folder):
    """numba freezes what is behind a dot too, and the values that are compared are not those."""
    (folder / "toy").mkdir()
    (folder / "toy/__init__.py").touch()
    text = TOY.format(factor="None").replace("FACTOR *", "first.FACTOR *")
    (folder / "toy/twin.py").write_text(f"from toy import first{text}")
    for factor, misses in ((3, 1), (5, 1), (3, 0)):
        (folder / "toy/first.py").write_text(f"FACTOR = {factor}")
        shutil.rmtree(folder / "toy/__pycache__", ignore_errors=True)
        fresh()
        times = importlib.import_module("toy.twin").times
        assert times(7) == 7 * factor and hits(times) == 1 - misses


def test_ufuncs(folder):
    """They follow the functions that they call."""
    for factor, entries in ((3, 2), (5, 4), (3, 4)):
        toy(folder, factor)
        assert sys.modules["toy"].each_times(np.arange(3)).tolist() == [0, factor, 2 * factor]
        assert len(list((folder / "kept").iterdir())) == entries


def test_what_is_damaged_is_made_again(folder):
    assert toy(folder)(7) == 21
    (entry,) = (folder / "kept").iterdir()
    whole = entry.read_bytes()
    for damaged in (b"", whole[:-1], whole[:90] + bytes([whole[90] ^ 1]) + whole[91:]):
        entry.write_bytes(damaged)
        times = toy(folder)
        assert times(7) == 21 and not hits(times)
    times = toy(folder)
    assert times(7) == 21 and hits(times)


def test_what_is_unused_for_30_days_goes(folder):
    toy(folder, 3)(7), toy(folder, 4)(7)
    one, other = (folder / "kept").iterdir()
    for entry in (one, other):
        os.utime(entry, (1, time.time() - 31 * DAY_S))
    toy(folder, 3)(7)  # is used: found, so that nothing is written
    now = {entry for entry in (one, other) if entry.stat().st_mtime > time.time() - DAY_S}
    assert len(now) == 1
    os.utime(*now, (1, time.time() - 29 * DAY_S))
    toy(folder, 5)(7)
    left = set((folder / "kept").iterdir())
    assert len(left) == 2 and left & {one, other} == now


def test_two_processes_at_once(folder):
    (folder / "toy.py").write_text(TOY.format(factor=3) + "print(times(7))")
    words = [sys.executable, "-c", "import toy"]
    env = {**os.environ, "RLFABRIC_BUILD": str(folder), "PYTHONPATH": f"{folder}:{ROOT}"}
    started = [subprocess.Popen(words, env=env, stdout=subprocess.PIPE) for _ in range(2)]
    assert [process.communicate(timeout=120)[0] for process in started] == [b"21\n", b"21\n"]
    assert len(list((folder / "compiled").iterdir())) == 1
