"""House rule: the width of a number is not written beside it, but follows from its limits.

A slice of a field by a literal drops upper bits that the largest legal value may have: ``[:5]`` of
32 is 0. Fields are those of the tables: commands, records and status of every design.
"""

import ast

import pytest
from test_architecture import ROOT, files

from hw.designs import DESIGNS
from hw.shell.status_block import STATUS


def integer_fields():
    """Names of all fields that are integers; binary32 has its parts at fixed bits."""
    layouts = [STATUS]
    for design in DESIGNS.values():
        for section in design.documents(design.config_type()).values():
            layouts += section
    kinds = [(field.name, field.kind) for layout in layouts for field in layout.fields]
    return {name for name, kind in kinds if kind != "f32"}


def names_of(node, aliases):
    """Names of attributes and variables in an expression; of a variable that was assigned one of
    ``aliases``, the field's."""
    for each in ast.walk(node):
        if isinstance(each, ast.Attribute):
            yield each.attr
        elif isinstance(each, ast.Name):
            yield aliases.get(each.id, each.id)


def aliases_of(tree):
    """``{variable: field}`` of assignments of an attribute to a variable."""
    pairs = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                both = (target, node.value)
                if all(isinstance(each, ast.Tuple) for each in both):
                    pairs += zip(*(each.elts for each in both), strict=False)
                else:
                    pairs.append(both)
    return {
        name.id: value.attr
        for name, value in pairs
        if isinstance(name, ast.Name) and isinstance(value, ast.Attribute)
    }


def literal_parts(source, fields):
    """``line: expression`` of parts of ``fields`` that end at a literal bit. One bit is a flag;
    bits counted from the upper end follow the width."""
    tree = ast.parse(source)
    aliases = aliases_of(tree)
    for node in ast.walk(tree):
        value = end = None
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
            value, end = node.value, node.slice.upper
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr == "bit_select" and len(node.args) == 2:
                value, end = node.func.value, node.args[1]
        number = end.value if isinstance(end, ast.Constant) else None
        wide = isinstance(number, int) and not (isinstance(node, ast.Call) and number == 1)
        if wide and fields & {*names_of(value, aliases)}:
            yield f"{node.lineno}: {ast.unparse(node)}"


def test_no_part_of_a_field_by_a_literal():
    fields = integer_fields()
    found = {
        str(path.relative_to(ROOT)): bad
        for path in files("hw")
        if (bad := list(literal_parts(path.read_text(), fields)))
    }
    assert not found, "the width must follow from the limits of the field, not be a number"


@pytest.mark.parametrize(
    "source, bad",
    [
        ("count = task.count[:5]", 1),
        ("x = self.i.p.count[2:5] + y", 1),
        ("x = Value.cast(task.count)[:5]", 1),
        ("x = (task.count - 1)[:5]", 1),
        ("n = task.count\nx = n[:5]", 1),
        ("n, k = task.count, 3\nx = n[:5]", 1),
        ("def f(count):\n    return count[:5]", 1),
        ("x = task.count.bit_select(0, 5)", 1),
        ("x = task.count.bit_select(agent, 1)", 0),
        ("x = task.count[: (config.steps).bit_length()]", 0),
        ("x = task.count[:width], task.count[:-1], task.count[3:], task.count[0]", 0),
        ("x = task.rate[:23]", 0),
        ("x = names[:5]", 0),
    ],
)
def test_the_check_itself(source, bad):
    assert len(list(literal_parts(source, {"count", "step"}))) == bad


def test_the_tables_have_the_fields():
    """Of commands, records and status, of every design."""
    fields = integer_fields()
    assert {"count", "step", "code_bits", "activation_bits", "granules", "fill"} <= fields
    assert "rate" not in fields
