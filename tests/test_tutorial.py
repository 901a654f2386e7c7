"""examples/tutorial.ipynb: it runs from top to bottom, and shows what it is said to show."""

import base64
import re
from pathlib import Path

import nbformat
import pytest
from test_architecture import PRIVATE_PATH

from scripts.tutorial import NOTEBOOK, executed, stripped

#: bytes of the file, pictures among them
SIZE = 120_000
ROOT = Path(__file__).parent.parent


def read():
    return nbformat.read(NOTEBOOK, as_version=4)


def shown(notebook):
    """``{cell: (text, pictures)}`` of the code cells: what they print, and PNG files as bytes."""
    found = {}
    for cell in notebook.cells:
        if cell.cell_type == "code":
            text = "".join(each.get("text", "") for each in cell.outputs)
            data = [each.get("data", {}) for each in cell.outputs]
            pictures = [base64.b64decode(each["image/png"]) for each in data if "image/png" in each]
            found[cell.id] = text, pictures
    return found


def without_numbers(text):
    """``text`` with # for each number, for numbers follow the machine and the kernel's state."""
    return re.sub(r" +", " ", re.sub(r"0x[0-9a-f]+|\d+", "#", text))


def test_the_file():
    """Ten cells, and outputs that have nothing of a machine: what is committed is `stripped`."""
    text, notebook = NOTEBOOK.read_text(), read()
    nbformat.validate(notebook)
    assert len(text) < SIZE
    assert [cell.cell_type for cell in notebook.cells] == ["markdown", "code"] * 5
    assert nbformat.writes(stripped(read())) == text.rstrip("\n"), "make tutorial"
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == [1, 2, 3, 4, 5]
    assert not PRIVATE_PATH.search(text) and not re.search(r"20\d\d-\d\d-\d\d|\d\d:\d\d", text)
    for cell in notebook.cells:
        for target in re.findall(r"\]\((?!https?:)([^)]*)\)", cell.source):
            assert (NOTEBOOK.parent / target).exists(), target


#: Cells for which kernels are compiled. What they call, a card with a trace, has its own tests.
COMPILED = ("bytes", "waveform")


def run_cells(tmp_path, without=()):
    """``{cell: (text, pictures)}`` of a run of the notebook in the folder, which must show what is
    committed. A cell that raises an error is an error here."""
    notebook = read()
    notebook.cells = [cell for cell in notebook.cells if cell.id not in without]
    ran = executed(notebook, tmp_path)
    noise = [
        line
        for cell in ran.cells
        for output in cell.get("outputs", [])
        if output.get("name") == "stderr"
        for line in output.text.splitlines()
        if not line.startswith("rlfabric: ")
    ]
    assert not noise, "a newcomer must see no warning"

    now, committed = shown(stripped(ran)), shown(read())
    assert len(now) == 5 - len(without)
    for cell, (text, pictures) in now.items():
        before, drawn = committed[cell]
        assert without_numbers(text) == without_numbers(before), f"{cell}: make tutorial"
        assert len(pictures) == len(drawn)
    for cell in ("loop", "model"):
        first, last = map(int, re.findall(r"episodes lasted (\d+) steps", now[cell][0]))
        assert 10 < first < last and last > 60, f"{cell} learns"
    assert re.search(r"m_axi_storage +\d{3} wires in +\d{3} wires out", now["verilog"][0])
    return now


def test_it_runs_in_an_empty_folder(tmp_path):
    run_cells(tmp_path, without=COMPILED)


@pytest.mark.long
def test_all_of_it_runs_in_an_empty_folder(tmp_path):
    """So does the cell that compares bytes."""
    now = run_cells(tmp_path)
    launches, clocks = map(int, re.findall(r"(\d+) launches took (\d+) clocks", now["bytes"][0])[0])
    batches = int(re.search(r"(\d+) batches of the Verilog are the same", now["bytes"][0])[1])
    assert launches == 1 + 200 + 2 * batches and batches == 185 and clocks > 100 * launches
    (waveform,) = now["waveform"][1]
    assert waveform.startswith(b"\x89PNG") and len(waveform) > 10_000
    assert (tmp_path / "replay.vcd").stat().st_size > 1_000_000
