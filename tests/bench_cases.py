"""``pytest -p bench_cases``: tests that benches skip by their CASE; no bench is simulated."""

import importlib
import json
import os
import sys

import pytest
import simulators

import hw.verilog

#: ``<bench>.<test>`` -> whether a case runs it.
_RUN = {}


def _record(simulator, verilog, bench, folder, *, name, case, waves=None):
    os.environ["CASE"] = json.dumps(case)
    sys.modules.pop(bench, None)
    for key, value in vars(importlib.import_module(bench)).items():
        if hasattr(value, "generate_tests"):  # it is decorated by cocotb.test
            _RUN[f"{bench}.{key}"] = _RUN.get(f"{bench}.{key}", False) or not value.skip
    pytest.skip("recorded")


# Before conftest.py takes them from here.
simulators.run_bench, hw.verilog.to_verilog = _record, lambda component, *, name: ""


def pytest_terminal_summary(terminalreporter):
    for key, runs in sorted(_RUN.items()):
        terminalreporter.write_line(f"{'runs' if runs else 'left out'}: {key}")
