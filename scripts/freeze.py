"""usage: freeze.py write [PART ...] | check [--quick] [PART ...] | explain PART[: ENTRY]

Keeps digests of what must not change in tests/reference/freeze.json, entry by entry.

write    : works the parts out, all or those that are named, and writes their digests. A change on
           purpose is this command, and a line in the message of its commit that says why.
check    : works them out and prints each entry that was added, removed or changed. Exit code 1 if
           there is one. --quick leaves out what takes minutes; `make test` does this.
explain  : prints a part's entries, or one entry, as the commit that last wrote the file has them
           and as they are now. The other commit is checked out beside this one, below build/.

PART is the name of a part or its beginning: "runs" stands for all runs. Numbers that depend on the
processor, results of torch and BLAS, are kept by tolerance; all others are digests (see
tests/freeze/digests.py). Verilog is compared as netlists (tests/freeze/netlists.py).
"""

import difflib
import json
import os
import subprocess
import sys
import tempfile
import warnings
from functools import partial
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
FILE = ROOT / "tests" / "reference" / "freeze.json"

#: Parts of `make test`, with compositions and the first estimates: all others take minutes.
QUICK = (
    "runs: dqn", "runs: ddpg", "runs: td3", "runs: sac", "runs: ppo", "runs: dqn, learner cpu",
    "runs: ddpg, learner cpu", "runs: ddpg on FIXAR", "buffers", "written", "formulas",
    "verilog: replay 0", "verilog: gae 0", "words: help", "words: show", "words: exit codes",
    "words: names",
)  # fmt: skip
#: Blocks of a design's estimates that are quick.
QUICK_BLOCKS = 4


def parts(quick=False):
    """``{name: function}``: each takes an empty folder, and gives ``{entry: value}``."""
    from tests.freeze import hardware, recorder, runs, words

    def untouched(function, *arguments):
        return lambda folder: function(*arguments)

    found = {f"runs: {name}": partial(runs.run, name) for name in runs.RUNS}
    found |= {"buffers": runs.buffers, "written": runs.written}
    for name, count in hardware.VERILOG.items():
        for which in (*range(count), hardware.DEFAULTS[name]):
            found[f"verilog: {name} {which}"] = untouched(hardware.verilog, name, which)
    for name in hardware.VERILOG:
        blocks = QUICK_BLOCKS if quick else None
        found[f"estimates: {name}"] = untouched(hardware.estimates, name, blocks)
    found["formulas"] = untouched(hardware.formulas)
    found |= {"words: help": untouched(words.helps), "words: exit codes": untouched(words.codes)}
    found["words: show"] = untouched(words.shows)
    found |= {"words: names": untouched(words.names), "words: wheel": words.wheel}
    for name in words.COMPOSITIONS:
        found[f"words: composition {name}"] = untouched(words.composition, name)
    found["words: errors"] = lambda folder: dict.fromkeys(recorder.collect(folder), "is there")
    if quick:
        return {
            name: function
            for name, function in found.items()
            if name in QUICK or name.startswith(("estimates", "words: composition"))
        }
    return found


def collected(function):
    """``{entry: value}`` of a part, in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        return function(Path(folder))


def digests(function):
    """``{entry: digest}`` of a part."""
    from tests.freeze.digests import digest

    return {entry: digest(value) for entry, value in collected(function).items()}


def chosen(names, quick=False):
    every = parts(quick)
    begun = tuple(name for name in names if name not in every)
    found = {
        part: function
        for part, function in every.items()
        if not names or part in names or part.startswith(begun)
    }
    if not found:
        print(f"PART must begin one of {', '.join(every)}, not {names}", file=sys.stderr)
        sys.exit(2)
    return found


def kept():
    return json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}


def written(content):
    """The file's text: a line for each entry, so that a difference shows which have changed."""
    blocks = []
    for part, entries in sorted(content.items()):
        lines = ",\n".join(
            f"  {json.dumps(name)}: {json.dumps(value)}" for name, value in sorted(entries.items())
        )
        blocks.append(f"{json.dumps(part)}: {{\n{lines}\n}}")
    return "{" + ",\n".join(blocks) + "}\n"


def write(names):
    content = kept()
    if not names:
        content = {part: entries for part, entries in content.items() if part in parts()}
    for part, function in chosen(names).items():
        content[part] = digests(function)
        print(f"freeze: {part}: {len(content[part])} entries", flush=True)
        FILE.write_text(written(content), encoding="utf-8")


def differences(quick, names=()):
    """Yields a line for each entry that is not as it was written."""
    from tests.freeze.digests import compare

    before = kept()
    for part, function in chosen(names, quick).items():
        try:
            now, then = digests(function), before.get(part, {})
        except Exception as error:  # whatever a change has broken: the other parts are told, too
            yield f"{part}: fails: {type(error).__name__}: {error}"
            continue
        if quick and part.startswith("estimates"):
            then = {entry: value for entry, value in then.items() if entry in now}
        for entry, how in compare(then, now):
            yield f"{part}: {entry}: {how}"
    if not names and not quick:
        yield from (f"{part}: removed" for part in sorted(before.keys() - parts().keys()))


def check(names):
    quick = "--quick" in names
    found = list(differences(quick, [name for name in names if name != "--quick"]))
    for line in found:
        print(line)
    print(f"freeze: {len(found)} differences" if found else "freeze: all is as it was written")
    sys.exit(int(bool(found)))


def shown(value):
    """A value as text lines."""
    value = getattr(value, "value", value)
    if isinstance(value, bytes):
        value = value.decode(errors="replace")
    if isinstance(value, str):
        return value.splitlines()
    if isinstance(value, np.ndarray):
        with np.printoptions(threshold=400, floatmode="unique"):
            return [f"{value.dtype} {value.shape}", *str(value).splitlines()]
    return repr(value).splitlines()


def values(name):
    """``{entry: lines}`` of a part, or of one entry of it."""
    every = parts()
    part = max((each for each in every if name.startswith(each)), key=len, default=None)
    if part is None:
        print(f"PART must begin one of {', '.join(every)}, not {name!r}", file=sys.stderr)
        sys.exit(2)
    entry = name[len(part) :].removeprefix(": ")
    found = collected(every[part])
    return {key: shown(value) for key, value in found.items() if key.startswith(entry)}


def explain(names):
    """Prints what differs between the commit that wrote the file and this checkout."""
    (name,) = names
    commit = _git("log", "-1", "--format=%H", "--", FILE)
    before, now = _values_of(commit, name), values(name)
    for entry in sorted(before.keys() | now.keys()):
        lines = difflib.unified_diff(
            before.get(entry, []), now.get(entry, []), f"{entry} at {commit[:8]}", f"{entry} now",
            lineterm="", n=1,
        )  # fmt: skip
        print(*lines, sep="\n", end="")
        if before.get(entry) != now.get(entry):
            print()


def _values_of(commit, name):
    """``values`` of another commit, which is checked out below build/."""
    place = ROOT / "build" / "freeze" / commit[:12]
    if not place.exists():
        _git("worktree", "add", "--detach", place, commit)
    try:
        code = (
            f"import json; from scripts import freeze; print(json.dumps(freeze.values({name!r})))"
        )
        words = [sys.executable, "-c", f"import sys; sys.path[:0] = {_paths(place)}; {code}"]
        done = subprocess.run(words, cwd=place, check=True, capture_output=True, text=True)
        return json.loads(done.stdout.splitlines()[-1])
    finally:
        _git("worktree", "remove", "--force", place)


def _git(*words):
    done = subprocess.run(["git", *words], cwd=ROOT, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def _paths(root):
    return [str(root), str(root / "tests")]


def main(words):
    os.chdir(ROOT)
    sys.path[:0] = _paths(ROOT)
    actions = {"write": write, "check": check, "explain": explain}
    known = words and words[0] in actions
    if not known or (words[0] == "explain" and len(words) != 2):
        print(__doc__.splitlines()[0], file=sys.stderr)
        sys.exit(2)
    # Estimates and descriptions make components that nothing elaborates.
    warnings.filterwarnings("ignore", message=".*created but never used")
    actions[words[0]](words[1:])


if __name__ == "__main__":
    main(sys.argv[1:])
