"""A program that calls every public entry once, in the current folder: ``every_entry.py [thread]``.

Examples of all public names, in a thread if it is asked to, and then each command. For each it
prints ``NAME: ok``, or what was wrong. Exit code 1 if something was.
"""

import doctest
import importlib
import os
import sys
import threading
import traceback

import numpy as np

import rlfabric
from host.cli import main
from hw.errors import RlfabricError

__all__ = ["COMMANDS", "MODULES", "examples"]

#: Modules whose names are public; what they have no example for is called by ``_others``.
MODULES = ("run", "policy", "kernels", "replay", "advantages", "training", "plan", "pearl_composer")

#: A word that ASCII does not have.
OUT = os.fsdecode("опыт".encode())  # as a command line has it in ASCII
_SHORT = ["--set", "hidden=8", "--set", "evaluation_episodes=2", "--set", "batch_size=8"]
#: A kernel that yosys maps in a minute.
_LEAST = ["--set", "gae.rows=1", "--set", "gae.depth=16", "--set", "engine.depth=16", "--set",
          "engine.bursts=1", "--set", "engine.burst_beats=4"]  # fmt: skip
#: Of a run in the folder OUT, which the first of these makes.
COMMANDS = {
    "train": ["train", "dqn", "--steps", "1200", "--out", OUT, *_SHORT],
    "train --resume": ["train", "dqn", "--steps", "1400", "--out", OUT, "--resume", *_SHORT],
    "train --actors": ["train", "dqn", "--steps", "99", "--actors", "2", "--out", OUT + "1",
                       *_SHORT],
    "evaluate": ["evaluate", OUT, "--episodes", "2"],
    "evaluate --render": ["evaluate", OUT, "--episodes", "1", "--render", "gif"],
    "watch": ["watch", OUT],
    "export": ["export", OUT, "--format", "c", "--out", "policy.c"],
    "list": ["list"],
    "show": ["show", "dqn"],
    "doctor": ["doctor"],
    "verilog": ["verilog", "gae", "--board", "u50", "--set", "gae.rows=4", "--out", OUT + "2"],
    "report": ["report", "gae", "--board", "ulx3s", *_LEAST, "--out", OUT + "2"],
    "bitstream": ["bitstream", "gae", "--board", "u50", "--set", "gae.rows=4", "--out", OUT + "2"],
    "explore": ["explore", "gae", "--board", "u50", "--set", "gae.depth=256", "--out", OUT + "3"],
    "compose": ["compose", "dqn", "--env", "CartPole-v1", "--profile", "--launches", "5", "--out",
                OUT + "4", "--generate", *_SHORT],
}  # fmt: skip
#: Exit codes that are no fault: 3 and 5, a tool is not installed.
_CODES = {"bitstream": (0, 3, 5), "report": (0, 3), "doctor": (0, 3)}


def examples(module):
    """The doctests of ``module``'s own names."""
    scope = {"np": np, "rlfabric": rlfabric, **vars(module)}
    found = doctest.DocTestFinder().find(module, globs=scope)
    return sorted(
        (each for each in found if each.examples), key=lambda each: "train" not in each.name
    )


def _example(test):
    said = []
    doctest.DocTestRunner().run(test, out=said.append)
    assert not said, "".join(said)


def _actors():
    run = rlfabric.train("dqn", "CartPole-v1", steps=200, actors=2, out="actors", progress=False,
                         config={"evaluation_episodes": 1})  # fmt: skip
    assert run.steps >= 200


def _others():
    """Entries without an example: name -> function."""
    yield "boards", lambda: rlfabric.boards()
    yield "open_card", lambda: rlfabric.open_card("model").close()
    if importlib.util.find_spec("ray"):
        yield "train, actors", _actors
    if importlib.util.find_spec("stable_baselines3"):
        for test in examples(importlib.import_module("rlfabric.sb3")):
            yield test.name, lambda test=test: _example(test)


def _entries():
    for name in MODULES:
        for test in examples(importlib.import_module(f"rlfabric.{name}")):
            yield test.name, lambda test=test: _example(test)
    yield from _others()


def _command(name):
    sys.argv = ["rlfabric", *COMMANDS[name]]
    path = list(sys.path)
    try:
        main.main()
        code = 0
    except SystemExit as end:
        code = end.code or 0
    sys.path[:] = path
    assert code in _CODES.get(name, (0,)), f"exit code {code}"


def _commands():
    main.leave = sys.exit  # this process goes on
    for name in COMMANDS:
        yield name, lambda name=name: _command(name)


def _wrong(call):
    """What is wrong with ``call``; an error of ours that is one line is none."""
    try:
        call()
    except RlfabricError as error:
        return "" if "\n" not in str(error) else str(error)
    except BaseException:
        return traceback.format_exc()
    return ""


def _all(entries, found):
    for name, call in entries:
        found[name] = _wrong(call)
        print(f"{name}: {found[name] or 'ok'}", flush=True)


if __name__ == "__main__":
    found = {}
    if "thread" in sys.argv:
        thread = threading.Thread(target=_all, args=(_entries(), found))
        thread.start()
        thread.join()
    else:
        _all(_entries(), found)
        _all(_commands(), found)
    sys.stdout.flush()
    os._exit(any(found.values()))
