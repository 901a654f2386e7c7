"""A unit with one request and one response stream, Verilated and driven by arrays.

Orders of magnitude faster than a testbench in Python: for the long tests and for measurements.
"""

import ctypes
from importlib.resources import files

import jinja2
import numpy as np
from amaranth.hdl import Shape
from amaranth.lib.wiring import In

from hw.errors import UsageError
from hw.verilog import to_verilog
from sim.verilate import loaded, shared_library

__all__ = ["StreamUnit"]

_u32, _u64 = ctypes.c_uint32, ctypes.c_uint64
_words = np.ctypeslib.ndpointer(np.uint32, flags="C_CONTIGUOUS")
_bytes = np.ctypeslib.ndpointer(np.uint8, flags="C_CONTIGUOUS")


class StreamUnit:
    """One compiled instance of ``component``, which has an input stream ``request`` and an output
    stream ``response``.

    Every other port is set and read by its name, as an unsigned int. After construction the unit
    has been reset, with all inputs 0. ``name`` is that of its Verilog module.
    """

    def __init__(self, component, *, name):
        ports = {}
        for path, member, _ in component.signature.flatten(component):
            ports["__".join(map(str, path))] = (member.flow, Shape.cast(member.shape).width)
        self._widths = {port: width for port, (_, width) in ports.items()}
        self._inputs = [p for p, (flow, _) in ports.items() if flow == In]
        self._outputs = [p for p, (flow, _) in ports.items() if flow != In]
        # Verilator writes a double underscore so in the names of its C++ members.
        mangled = {port: port.replace("__", "___05F") for port in ports}
        template = jinja2.Template(
            (files(__package__) / "binding.hpp.j2").read_text(encoding="utf-8"),
            undefined=jinja2.StrictUndefined,
        )
        library = shared_library(
            name,
            to_verilog(component, name=name),
            {
                "harness.cpp": (files(__package__) / "harness.cpp").read_text(encoding="utf-8"),
                "binding.hpp": template.render(
                    inputs=[mangled[p] for p in self._inputs],
                    outputs=[mangled[p] for p in self._outputs],
                ),
            },
        )
        self._library = loaded(library)
        for function, result, *arguments in (
            ("open", ctypes.c_void_p),
            ("close", None, ctypes.c_void_p),
            ("set", None, ctypes.c_void_p, ctypes.c_int, _words),
            ("get", None, ctypes.c_void_p, ctypes.c_int, _words),
            ("step", None, ctypes.c_void_p, _u64),
            (
                "run",
                _u64,
                ctypes.c_void_p,
                _words,
                _u64,
                _words,
                _u64,
                _u32,
                _u32,
                _u64,
                _u64,
                ctypes.POINTER(_u64),
            ),
        ):
            pointer = getattr(self._library, f"unit_{function}")
            pointer.restype, pointer.argtypes = result, arguments
        self._unit = self._library.unit_open()

    def _count(self, port):
        return -(-self._widths[port] // 32)

    def set(self, port, value):
        """Drives the input ``port`` with ``value``, an unsigned int, until it is set again."""
        words = [value >> 32 * k & 0xFFFFFFFF for k in range(self._count(port))]
        self._library.unit_set(self._unit, self._inputs.index(port), np.array(words, np.uint32))

    def get(self, port):
        """Value of output ``port``."""
        words = np.zeros(max(2, self._count(port)), np.uint32)
        self._library.unit_get(self._unit, self._outputs.index(port), words)
        return sum(int(word) << 32 * k for k, word in enumerate(words[: self._count(port)]))

    def step(self, clocks=1):
        if clocks < 0:
            raise UsageError(f"clocks must be at least 0, not {clocks!r}")
        self._library.unit_step(self._unit, clocks)

    def wait(self, port, value, limit):
        """Simulates until the output ``port`` is ``value``; TimeoutError if it is not within
        ``limit`` clocks."""
        for _ in range(limit):
            if self.get(port) == value:
                return
            self.step()
        raise TimeoutError(
            f"{port} must become {value} within {limit} clocks, not stay {self.get(port)}"
        )

    def run(
        self, requests, *, responses=None, source_gap=0.0, sink_gap=0.0, seed=1, max_idle=100_000
    ):
        """Sends every request, and takes responses until the expected number has come.

        Parameters
        ----------
        requests : list of int
            Payloads of the stream that is driven, each as one number.
        responses : int
            Expected count; as many as requests by default.
        source_gap, sink_gap : float
            Probability, in each clock, that requests or responses pause.
        seed : int
            Of the pauses.
        max_idle : int
            Clocks without a transfer after which TimeoutError is raised.

        Returns
        -------
        list of int, int
            The responses; the clocks from the first request taken to the last response, both
            included. RuntimeError if the unit changes or takes back a response that it has offered.
        """
        responses = len(requests) if responses is None else responses
        into, out = self._count("request__payload"), self._count("response__payload")
        size = 4 * into
        raw = b"".join(int(word).to_bytes(size, "little") for word in requests)
        words = np.frombuffer(raw, np.uint32) if raw else np.zeros(1, np.uint32)
        answers = np.zeros(max(1, responses * out), np.uint32)
        clocks = _u64()
        moved = self._library.unit_run(
            self._unit,
            words,
            len(requests),
            answers,
            responses,
            round(source_gap * 65536),
            round(sink_gap * 65536),
            seed,
            max_idle,
            ctypes.byref(clocks),
        )
        if moved == 2**64 - 1:
            raise RuntimeError("response must stay as offered until it is taken, not change")
        if moved < responses:
            raise TimeoutError(
                f"response must move within {max_idle} clocks, not stand still "
                f"after {moved} of {responses}"
            )
        raw = answers.tobytes()
        return [
            int.from_bytes(raw[4 * out * k : 4 * out * (k + 1)], "little") for k in range(responses)
        ], clocks.value

    def close(self):
        if self._unit:
            self._library.unit_close(self._unit)
            self._unit = None

    def __del__(self):
        if getattr(self, "_unit", None):
            self.close()
