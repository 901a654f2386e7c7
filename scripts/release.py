"""usage: release.py FOLDER [EXTRA ...]

Builds an sdist into FOLDER, and from it the wheel, as pip does in an empty environment. Tries the
wheel in environments that have nothing else: one without an extra and one for each EXTRA, by
default for all; "none" is no extra. In each, pip must find no conflict, the command line must
answer, and every module of the extra's packages must be importable. Whoever installs the sdist gets
this wheel. Nothing is uploaded: the last line says how. Exit code 1: something of this failed.
"""

import subprocess
import sys
import tempfile
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path

__all__ = ["build", "check", "main"]

ROOT = Path(__file__).resolve().parents[1]
#: In an environment: imports what the packages of an extra have.
_IMPORTS = """
import importlib, re, sys
from importlib import metadata
from packaging.requirements import Requirement
extra, owners = sys.argv[1], metadata.packages_distributions()
def plain(name):
    return re.sub(r"[-_.]+", "-", name).lower()
wanted = {
    plain(each.name)
    for each in map(Requirement, metadata.requires("rlfabric"))
    if each.marker and "extra" in str(each.marker) and each.marker.evaluate({"extra": extra})
}
for module, names in sorted(owners.items()):
    if wanted & set(map(plain, names)) and module.isidentifier() and module[0] != "_":
        importlib.import_module(module)
if extra == "sb3":
    importlib.import_module("rlfabric.sb3")
"""


def run(*words):
    subprocess.run([str(word) for word in words], check=True, cwd=tempfile.gettempdir())


@contextmanager
def environment():
    """``(its Python, its pip)`` of an empty environment, as the first words of a command."""
    with tempfile.TemporaryDirectory(prefix="rlfabric-") as place:
        run(sys.executable, "-m", "venv", place)
        python = Path(place, "bin", "python")
        yield python, (python, "-m", "pip", "--quiet", "--disable-pip-version-check")


def build(folder):
    """Builds into ``folder``; returns the paths of wheel and sdist."""
    make = sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", folder
    subprocess.run(make, check=True, cwd=ROOT)
    [sdist] = folder.glob("rlfabric-*.tar.gz")
    with environment() as (_, pip):
        run(*pip, "wheel", "--no-deps", "--wheel-dir", folder, sdist)
    [wheel] = folder.glob("rlfabric-*.whl")
    return wheel, sdist


def check(wheel, extra):
    """Tries ``wheel`` with ``extra``, or without one if it is empty."""
    with environment() as (python, pip):
        what = f"{wheel}[{extra}]" if extra else wheel
        # Importing compiles what is needed; pip would compile every file of every package.
        run(*pip, "install", "--no-compile", "--constraint", ROOT / "constraints.txt", what)
        run(*pip, "check")
        run(python, "-m", "rlfabric", "list", "designs")
        run(python, "-c", "import rlfabric; [getattr(rlfabric, name) for name in rlfabric.__all__]")
        if extra:
            run(python, "-c", _IMPORTS, extra)


def main(words):
    if not words or words[0].startswith("-"):
        print(__doc__.splitlines()[0], file=sys.stderr)
        return 2
    known = metadata.metadata("rlfabric").get_all("Provides-Extra")
    extras, folder = words[1:] or known, Path(words[0]).resolve()
    if wrong := set(extras) - {*known, "none"}:
        print(f"EXTRA must be none or one of pyproject.toml, not {min(wrong)}", file=sys.stderr)
        return 2
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("rlfabric-*"):
        old.unlink()
    (wheel, sdist), failed = build(folder), []
    for extra in ["", *(extra for extra in extras if extra != "none")]:
        title = f"extra {extra}" if extra else "no extra"
        try:
            check(wheel, extra)
        except subprocess.CalledProcessError as error:
            failed.append(title)
            print(f"release: {title}: failed ({error})", flush=True)
        else:
            print(f"release: {title}: ok", flush=True)
    if failed:
        print(f"release: not ready: {'; '.join(failed)}")
        return 1
    print(f"release: ready; not uploaded: twine upload {wheel} {sdist}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
