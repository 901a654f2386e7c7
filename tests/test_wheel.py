"""What is built and installed: one name, and all of it works where other names are a user's."""

import ast
import json
import os
import re
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest
from extensions import install_page
from packages import closure

from scripts.relocate import FOLDERS, relocated

ROOT = Path(__file__).parent.parent
#: Modules of a user, with names as plain as those of the repository's folders.
HOSTILE = (*FOLDERS, "bench", "pyxrt")
TRAIN = (
    "train dqn --env CartPole-v1 --learner cpu --card model "
    "--set learning_starts=100 --set evaluation_episodes=1"
).split()
#: As it was before a test changed it.
ENVIRONMENT = dict(os.environ)


def build(folder, target, source=ROOT):
    """The file that ``hatchling build`` makes of ``source``."""
    words = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", folder]
    subprocess.run(words, cwd=source, check=True, capture_output=True, timeout=120)
    (found,) = folder.iterdir()
    return found


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    return build(tmp_path_factory.mktemp("wheel"), "wheel")


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """Python of a new environment with the wheel in it, and the core that it depends on, which this
    environment lends."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, symlinks=True)
    python = folder / "bin" / "python"
    show = [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    packages = Path(subprocess.run(show, check=True, capture_output=True, text=True).stdout.strip())
    lend(closure(), packages)
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(packages)
    return python


def lend(distributions, folder):
    """Links in ``folder`` to the files of installed packages."""
    for each in distributions.values():
        for top in {file.parts[0] for file in each.files} - {"..", "__pycache__"}:
            if not (folder / top).exists():
                (folder / top).symlink_to(each.locate_file(top))


@pytest.fixture
def torch(tmp_path, monkeypatch):
    """What the extra torch brings is there too."""
    (tmp_path / "torch").mkdir()
    lend(closure("torch"), tmp_path / "torch")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "torch"))


@pytest.fixture
def hostile(installed, tmp_path, monkeypatch):
    """A user's folder: each module in it ends what imports it."""
    monkeypatch.delenv("PYTHONPATH", raising=False)
    monkeypatch.setenv("RLFABRIC_BUILD", str(installed.parents[1] / "build"))
    monkeypatch.chdir(tmp_path)
    for name in HOSTILE:
        (tmp_path / f"{name}.py").write_text("raise SystemExit(f'{__name__} was imported')\n")
    return tmp_path


def run(*words, code=0):
    """What ``words`` print; an error's line, where it shall end with another ``code``."""
    done = subprocess.run(words, capture_output=True, text=True, timeout=300)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stderr if code else done.stdout


def checkout(*words):
    """``rlfabric`` as the repository has it, with what it has compiled."""
    words = [sys.executable, "-m", "rlfabric", *words]
    done = subprocess.run(
        words, cwd=ROOT, env=ENVIRONMENT, capture_output=True, text=True, timeout=300
    )
    assert not done.returncode, done.stdout + done.stderr


def test_a_wheel_has_one_name(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.partition("/")[0] for name in names}
    assert tops == {"rlfabric", "rlfabric-0.1.0.dist-info"}
    folders = {name.split("/")[1] for name in names if name.count("/") > 1}
    assert folders == {*FOLDERS, "licenses"}
    for folder in FOLDERS:
        here = [path for path in (ROOT / folder).rglob("*") if "__pycache__" not in path.parts]
        here = {f"rlfabric/{path.relative_to(ROOT)}" for path in here if path.is_file()}
        assert here == {name for name in names if name.startswith(f"rlfabric/{folder}/")}


def test_a_wheel_of_the_sdist_is_the_same(wheel, tmp_path):
    """The sdist has the one name too, and all that building a wheel needs."""
    (made, again) = tmp_path / "made", tmp_path / "again"
    with tarfile.open(build(made, "sdist")) as archive:
        names = {name.split("/")[1] for name in archive.getnames()}
        archive.extractall(tmp_path, filter="data")
    names = {name for name in names if "." not in name}
    assert names == {"LICENSE", "PKG-INFO", "rlfabric", "scripts"}
    (source,) = tmp_path.glob("rlfabric-*")
    first, second = (zipfile.ZipFile(file) for file in (wheel, build(again, "wheel", source)))
    assert first.namelist() == second.namelist()
    for name in first.namelist():
        assert first.read(name) == second.read(name), name


@pytest.mark.long  # the whole wheel again, beside modules of the same names
def test_it_works_among_a_users_own_modules(installed, hostile, torch):
    """Trains, and says what it does not draw; README's example uses what it has trained, which
    goes on in the checkout."""
    out = hostile / "runs" / "demo"
    said = run(installed, "-m", "rlfabric", *TRAIN, "--steps", "500", "--out", out)
    assert "returns.png is not drawn: matplotlib must be installed to draw returns.png (" in said
    assert not (out / "returns.png").exists()
    (example,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.S)
    run(installed, "-c", example + "assert action.shape == () and len(batch['reward']) == 4")
    checkout(*TRAIN, "--steps", "600", "--out", out, "--resume")
    summary = json.loads((out / "summary.json").read_text())
    assert summary["steps"] >= 600


@pytest.mark.long
def test_it_writes_the_verilog_of_the_checkout(installed, hostile):
    """And the script beside a kernel imports what is installed, not the repository's folders."""
    program = """
from rlfabric.host.kernels import package
print(package("gae", "u50", "wheel", **{"gae.rows": 4}))
"""
    folder = Path(run(installed, "-c", program).strip())
    assert "20 launches" in run(installed, folder / "smoke.py", "model")
    verilog = "verilog", "gae", "--board", "u50", "--set", "gae.rows=4", "--out"
    checkout(*verilog, hostile / "checkout")
    files = sorted(path.relative_to("checkout") for path in Path("checkout").rglob("*.*"))
    files = [path for path in files if path.name != "manifest.json"]  # one is of more files
    assert {"gae.v", "kernel.json"} <= {path.name for path in files}
    for path in files:
        assert Path("wheel", path).read_bytes() == Path("checkout", path).read_bytes(), path


def test_it_writes_the_programs_of_the_checkout(installed, hostile):
    """Of plans, from templates that are installed too."""
    program = """
from rlfabric.host.compose.plans import plan_of
from rlfabric.host.compose.program import program
from rlfabric.host.compose.task import Task
from rlfabric.host.runs.preset import preset
mapping = dict(rm="card0", learner="card0", act="cpu0", setting=2)
for algo, rm in (("dqn", "card"), ("a3c", None)):
    plan = plan_of(Task(preset(algo, "card", env="CartPole-v1"), False, {}), rm, "card")
    config = dict(algo=algo, env="CartPole-v1")
    print(program(plan, dict(hash="0", config=config, mapping=mapping), "kernel.json", "."))
"""
    theirs = run(installed, "-c", program)
    words = [sys.executable, "-c", program]
    done = subprocess.run(words, cwd=ROOT, env=ENVIRONMENT, capture_output=True, timeout=300)
    assert done.stdout.decode() == theirs and "rl.LearningReplay(" in theirs


@pytest.mark.parametrize(
    "words, extra",
    [
        (TRAIN, "torch"),
        (["train", "dqn", "--card", "sim", "--steps", "500"], "sim"),
        (["train", "dqn", "--env", "MinAtar/Breakout-v1"], "minatar"),
    ],
)
def test_a_missing_extra_is_a_line_with_its_command(installed, hostile, words, extra):
    said = run(installed, "-m", "rlfabric", *words, code=2 if extra == "minatar" else 3)
    lines = [line for line in said.splitlines() if "must be" in line]
    assert len(lines) == 1 and f"pip install 'rlfabric[{extra}]'" in lines[0], said
    assert not list(installed.parents[1].rglob("dqn.v")), "before anything is made"


def test_it_finds_packages_of_a_users_own(installed, hostile, monkeypatch):
    """Those of docs/adding_*.md, as a checkout does (``test_extension_pages``)."""
    pages = "adding_an_algorithm.md", "adding_a_design.md", "adding_a_board.md"
    for page in pages:
        install_page(hostile / "own", page)
    monkeypatch.setenv("PYTHONPATH", str(hostile / "own"))
    listed = run(installed, "-m", "rlfabric", "list")
    assert all(name in listed for name in ("sarsa", "clip", "ulx3s_45f"))
    assert run(installed, "own/use_clip.py", "model") == "[-1, -1, 0, 1, 1] 5\n"
    program = """
from rlfabric import boards
from rlfabric.boards.bitstream import _builder
print(_builder(boards.get("ulx3s_45f")).whole.__module__)
"""
    assert run(installed, "-c", program) == "rlfabric.boards.ulx3s.build\n"


#: A module's name, whole or its beginning: "hw.stream", or of f"host.cards.{kind}" what is fixed.
NAMED = re.compile(rf"({'|'.join(FOLDERS)})(\.\w*)+")


def named(source):
    """Texts of ``source`` that name a module of ``FOLDERS``."""
    nodes = ast.walk(ast.parse(source))
    texts = [node.value for node in nodes if isinstance(node, ast.Constant)]
    texts = (text for text in texts if isinstance(text, str) and NAMED.fullmatch(text))
    return [text for text in texts if not text.endswith(".v")]  # a file of Verilog


def test_its_tasks_are_environments_of_gymnasium(installed, hostile):
    """By the id with the module that registers it."""
    env = "rlfabric.host.environments.task_ids:rlfabric/CartPole-v1"
    code = f"import gymnasium as g; print(g.make({env!r}).reset(seed=0)[0].shape)"
    assert run(installed, "-c", code) == "(4,)\n"


def test_no_text_names_a_module():
    """An import is rewritten, a text is not: packages are found by ``__package__``."""
    paths = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")]
    found = {str(path.relative_to(ROOT)): named(path.read_text()) for path in paths}
    assert len(found) > 400 and not {path: bad for path, bad in found.items() if bad}
    assert named('files("hw.stream"), f"host.cards.{kind}", "hw", "host.json of", __package__') == [
        "hw.stream",
        "host.cards.",
    ]


def test_names_are_imported_when_they_are_asked_for(installed, hostile):
    program = """
import sys
import rlfabric
assert {"hw", "host", "numpy"}.isdisjoint(sys.modules)
assert set(rlfabric.__all__) <= set(dir(rlfabric))
from rlfabric import PrioritizedReplayBuffer
assert PrioritizedReplayBuffer.__module__ == "rlfabric.replay"
assert "rlfabric.host.replay.prioritized_buffer" in sys.modules
print({"gymnasium", "matplotlib", "torch"} & set(sys.modules))
from rlfabric import *
print(hasattr(rlfabric, "nothing"), rlfabric.boards()["u50"])
"""
    assert run(installed, "-c", program).split() == ["set()", "False", "Alveo", "U50"]


@pytest.mark.parametrize(
    "source, wanted",
    [
        ("from host.cards import x\n", "from rlfabric.host.cards import x\n"),
        ("import boards\n", "from rlfabric import boards\n"),
        ("import hw.a.b as c\n", "import rlfabric.hw.a.b as c\n"),
        ("def f():\n    from sim import y\n", "def f():\n    from rlfabric.sim import y\n"),
        ("from host import (\n  a,\n  hw,\n)\n", "from rlfabric.host import (\n  a,\n  hw,\n)\n"),
        ("import hwmon, simpy\nfrom hosts import a\n",) * 2,
        ('"""from host import a"""\nx = "hw.b"  # import sim\n',) * 2,
        ("from . import host\n",) * 2,
    ],
)  # fmt: skip
def test_imports_say_where_they_are(source, wanted):
    assert relocated(source) == wanted


@pytest.mark.parametrize("source", ["import host.cards\n", "import os, hw\n"])
def test_an_import_without_such_a_form_is_refused(source):
    with pytest.raises(ValueError, match="line 1: import .* must be from"):
        relocated(source)
