"""usage: release.py FOLDER [EXTRA ...]

Builds wheel and sdist into FOLDER, and tries each in environments that have nothing else:
one without an extra and one for each EXTRA, by default for all; "none" is no extra. In each, pip
must find no conflict, the command line must answer, and every module of the extra's packages must
be importable. Nothing is uploaded: the last line says how. Exit code 1: something of this failed.
"""

import re
import subprocess
import sys
import tempfile
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


def build(folder):
    """Builds into ``folder``; returns the paths of wheel and sdist."""
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-d", folder], check=True, cwd=ROOT)
    found = [*folder.glob("*.whl"), *folder.glob("*.tar.gz")]
    if len(found) != 2:
        raise SystemExit(f"FOLDER must have one wheel and one sdist, not {sorted(found)}")
    return found


def check(file, extra):
    """Tries ``file`` with ``extra``, or without one if it is empty."""
    with tempfile.TemporaryDirectory(prefix="rlfabric-") as place:
        run(sys.executable, "-m", "venv", place)
        python = Path(place, "bin", "python")
        pip = python, "-m", "pip", "--quiet", "--disable-pip-version-check"
        what = f"{file}[{extra}]" if extra else file
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
    files, failed = build(folder), []
    for file in files:
        for extra in ["", *(extra for extra in extras if extra != "none")]:
            title = f"{re.sub('.*[.]', '', file.name)}, {f'extra {extra}' if extra else 'no extra'}"
            try:
                check(file, extra)
            except subprocess.CalledProcessError as error:
                failed.append(title)
                print(f"release: {title}: failed ({error})", flush=True)
            else:
                print(f"release: {title}: ok", flush=True)
    if failed:
        print(f"release: not ready: {'; '.join(failed)}")
        return 1
    print(f"release: ready; not uploaded: twine upload {' '.join(map(str, files))}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
