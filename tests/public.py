"""What a generated program may use of this project: the public names of ``rlfabric``."""

import ast
import re
import sys

import rlfabric
from rlfabric import training

__all__ = ["not_public"]

_MODULES = {"rlfabric": rlfabric.__all__ + ["training"], "rlfabric.training": training.__all__}


def not_public(name, text):
    """Yields what the generated file ``name`` imports, uses or tells to run that a user of the
    wheel does not have: its only module of this project is ``rlfabric``."""
    for module in re.findall(r"\bpython3? -m ([\w.]+)", text):
        if module.partition(".")[0] in ("boards", "host", "hw", "sim", "bench", "tests"):
            yield f"{name}: python -m {module}"
    if not name.endswith(".py"):
        return
    known = {}  # the program's name -> the module's
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            for each in node.names:
                known[each.asname or each.name] = each.name
                if each.name not in _MODULES and not _elsewhere(each.name):
                    yield f"{name}: import {each.name}"
        elif isinstance(node, ast.ImportFrom):
            for each in node.names:
                whole = f"{node.module}.{each.name}"
                known[each.asname or each.name] = whole
                if not _elsewhere(node.module) and each.name not in _MODULES.get(node.module, ()):
                    yield f"{name}: from {node.module} import {each.name}"
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            module = known.get(node.value.id)
            if module in _MODULES and node.attr not in _MODULES[module]:
                yield f"{name}: {module}.{node.attr}"


def _elsewhere(module):
    """Whether ``module`` is of Python or NumPy."""
    first = module.partition(".")[0]
    return first == "numpy" or first in sys.stdlib_module_names
