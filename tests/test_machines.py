"""scripts/machines.py: the quick tests as on other processors, each alone, none in silence."""

import os
import sys
from types import SimpleNamespace

import pytest

from scripts import machines


@pytest.fixture
def runs(monkeypatch):
    """Runs of pytest: their environment and words; ``runs.code`` is their exit code. Every machine
    computes as it is told, but ``runs.lacks``, which end by a signal or compute as another."""
    found = SimpleNamespace(pytest=[], code=0, lacks={})

    def run(command, env, **_):
        own = {name: value for name, value in env.items() if os.environ.get(name) != value}
        if "-c" not in command:
            found.pytest.append((own, command))
            return SimpleNamespace(returncode=found.code)
        (name,) = (
            n for n, (variable, value, *_) in machines.MACHINES.items() if own == {variable: value}
        )
        code, told = found.lacks.get(name, (0, machines.MACHINES[name][3][0]))
        return SimpleNamespace(returncode=code, stdout=f"{told}\n")

    monkeypatch.setattr(machines.subprocess, "run", run)
    for variable, *_ in machines.MACHINES.values():
        monkeypatch.delenv(variable, raising=False)
    return found


def ended(*words):
    with pytest.raises(SystemExit) as stop:
        machines.main(*words)
    return stop.value.code


def test_each_by_itself(runs, capsys):
    assert ended("3") == 0
    own = [environment for environment, _ in runs.pytest]
    names = ("Prescott", "Haswell", "Zen", "SkylakeX")
    assert own == [{"OPENBLAS_CORETYPE": name} for name in names] + [
        {"ATEN_CPU_CAPABILITY": name} for name in ("default", "avx2")
    ]
    for _, command in runs.pytest:
        assert command[:3] == [sys.executable, "-m", "pytest"] and command[-5:] == machines.FOLDERS
        assert command[command.index("-n") + 1] == "3" and "not long" in command
    assert capsys.readouterr().out.count(": passed\n") == 6


def test_what_the_processor_lacks_is_named_as_not_run(runs, capsys):
    """A signal, or another's kernels in its place, is no run that passed."""
    runs.lacks = {"SkylakeX": (-4, ""), "avx2": (0, "DEFAULT")}
    assert ended("2", "Zen", "SkylakeX", "avx2") == 0
    assert len(runs.pytest) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[1:] == [
        "machines: Zen: passed",
        "machines: SkylakeX: not run: this processor lacks its instructions (signal 4)",
        "machines: avx2: not run: ATEN_CPU_CAPABILITY=avx2 computes as DEFAULT here",
    ]


def test_a_failure_is_the_exit_code(runs, capsys):
    runs.code = 1
    assert ended("2", "Zen") == 1 and "machines: Zen: failed" in capsys.readouterr().out


def test_wrong_names(runs, capsys):
    assert ended("2", "zen") == 2 and not runs.pytest
    assert capsys.readouterr().err.startswith("NAME must be one of Prescott, Haswell, Zen, Sky")


def test_what_a_machine_computes_with_is_asked_of_it():
    """The one that there is on any x86; elsewhere it is not run, and why is said."""
    why = machines.lacking("Prescott")
    assert why is None or why.startswith("OPENBLAS_CORETYPE=Prescott computes as ")
