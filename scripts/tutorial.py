"""`make tutorial` executes examples/tutorial.ipynb and keeps its outputs in it.

Run it after a change of the notebook, or of what the notebook shows. Nothing of this machine is
kept: neither times, nor paths, nor the versions of its Python, nor messages of progress.
"""

import os
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from traitlets.config import Config

from system.tools import BUILD_DIRECTORY

ROOT = Path(__file__).parent.parent
NOTEBOOK = ROOT / "examples" / "tutorial.ipynb"
#: seconds that a cell may take; one of them compiles a kernel
TIMEOUT = 300


def executed(notebook, folder):
    """``notebook``, each of its cells executed in ``folder``, with this checkout's code; kernels
    are compiled where this process has its own. CellExecutionError if a cell raises an error."""
    with tempfile.TemporaryDirectory() as own:
        paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
        environment = {name: value for name, value in os.environ.items() if name != "MPLBACKEND"}
        environment["PYTHONPATH"] = os.pathsep.join(paths)
        environment |= {"RLFABRIC_BUILD": str(BUILD_DIRECTORY), "IPYTHONDIR": own}
        # Sockets in a folder, rather than ports that another program may take first.
        sockets = {"transport": "ipc", "connection_file": f"{own}/kernel.json"}
        client = NotebookClient(
            notebook,
            timeout=TIMEOUT,
            kernel_name="python3",
            record_timing=False,
            resources={"metadata": {"path": str(folder)}},
            config=Config(KernelManager=sockets),
        )
        return client.execute(env=environment)


def stripped(notebook):
    """``notebook`` without what differs from machine to machine."""
    notebook.metadata = nbformat.from_dict(
        {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        }
    )
    for cell in notebook.cells:
        cell.metadata.clear()
        if cell.cell_type == "code":
            cell.outputs = [each for each in cell.outputs if each.get("name") != "stderr"]
    return notebook


def main():
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        notebook = stripped(executed(notebook, folder))
    nbformat.write(notebook, NOTEBOOK)


if __name__ == "__main__":
    main()
