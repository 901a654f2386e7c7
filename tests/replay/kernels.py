"""Kernels for tests: generated once for each state of ``hw/``, opened on any card."""

import functools
import hashlib
import inspect
import os
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import hw
from host.cards import open_card
from hw.designs import DESIGNS
from hw.learner.algorithms.registry import ALGORITHMS
from hw.replay.config import ReplayConfig, ReplayKernelConfig
from hw.shell.axi import EngineConfig
from hw.verilog import to_verilog
from sim.card.memory import MemoryConfig
from system.tools import BUILD_DIRECTORY

__all__ = ["NARROW", "WIDE", "design_of", "generate", "kernel_config", "opened", "unkind"]


def kernel_config(data_width=512, **replay):
    """A kernel around ``ReplayConfig(**replay)`` with engines small enough to fill up."""
    engine = EngineConfig(data_width=data_width, depth=128, burst_beats=32)
    return ReplayKernelConfig(replay=ReplayConfig(**replay), engine=engine)


#: The two kernels that are compiled for card ``sim``; compiling one takes longer than most tests.
WIDE = kernel_config(512, capacity=3000, fanout=16)  # three priorities a row of the table
NARROW = kernel_config(128, capacity=37, fanout=4, priority_width=16, priority_fraction=8)


@functools.cache
def _sources(design):
    """Digest of everything that the Verilog of a kernel with the module ``design`` comes from."""
    digest = hashlib.sha256()
    for root in (Path(hw.__file__).parent, Path(inspect.getfile(design)).parent):
        for path in sorted(p for p in root.rglob("*") if p.suffix in (".py", ".v")):
            digest.update(path.relative_to(root).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()


def design_of(config):
    """The design that ``config`` configures."""
    designs = [design for design in DESIGNS.values() if design.config_type is type(config)]
    return DESIGNS[config.learner.algorithm] if len(designs) > 1 else designs[0]


def _owners(config):
    """The classes in whose folders the hardware of a kernel may be: the config's, and that of the
    learner's algorithm."""
    yield type(config)
    if (name := getattr(getattr(config, "learner", None), "algorithm", None)) in ALGORITHMS:
        yield type(ALGORITHMS[name])


def generate(config, *, verilog=True):
    """Path of the description ``kernel.json`` of a kernel, its Verilog beside it; without
    ``verilog``, which takes seconds, perhaps not."""
    sources = [_sources(inspect.getmodule(each)) for each in _owners(config)]
    key = hashlib.sha256(f"{sources}{config.to_json()}".encode()).hexdigest()[:20]
    directory = BUILD_DIRECTORY / "tests" / f"kernel-{key}"
    design = design_of(config)
    description = design.describe(config)
    files = {"kernel.json": description.to_json}
    if verilog:
        files[description.verilog] = lambda: to_verilog(
            design.kernel(config), name=description.name
        )
    directory.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        if not (directory / name).exists():
            # In one step: parallel tests never see half a file.
            part = directory / f".{name}.{os.getpid()}"
            part.write_text(text())
            part.replace(directory / name)
    return directory / "kernel.json"


def unkind(options):
    """``options`` of a card with noise, whatever else its memory has."""
    return {**options, "memory": replace(options.get("memory") or MemoryConfig(), noise=True)}


@contextmanager
def opened(card, config, **options):
    """``with opened("sim", WIDE, memory=...) as kernel``: a loaded ``host.cards.Kernel``, on a card
    that is not kind."""
    with open_card(card, **unkind(options)) as device:
        yield device.load(generate(config, verilog=card != "model"))
