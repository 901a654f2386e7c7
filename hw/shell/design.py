"""A design: how a kernel is configured, built, described and documented. One object a package."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from hw.config import value_of
from hw.errors import UsageError
from hw.shell.axi import EngineConfig, engine_of
from hw.shell.buffers import HOST_BUFFERS
from hw.shell.description import KernelDescription, digest, master_descriptions, standard_arguments
from hw.shell.kernel import Kernel
from hw.shell.status_block import STATUS
from hw.space import Space

__all__ = ["Design", "RunField", "Training", "default_engine"]


class RunField(NamedTuple):
    """A field of a run, or of its agent, and the field of the kernel's config that it decides.

    run, kernel : names; ``kernel`` is dotted, such as ``learner.batch``.
    to_kernel, to_run : functions that convert the value to the kernel and back; None: the values
        are equal, and an error about the kernel's field names the run's.
    """

    run: str
    kernel: str
    to_kernel: Callable | None = None
    to_run: Callable | None = None

    def of_kernel(self, config):
        """The value of the run's field for a kernel with ``config``."""
        value = value_of(config, self.kernel)
        return self.to_run(value) if self.to_run else value


@dataclass(frozen=True, kw_only=True)
class Training:
    """The training that a design's kernels are made for, as ``rlfabric train`` takes it.

    words : str
        Algorithm and options, as typed after ``rlfabric train``.
    fields : tuple of RunField
        The one table of run fields that decide fields of the kernel. The host's RunConfig reads it
        from a run to its kernel, for values and for names in errors; ``settings_of`` reads it from
        a kernel to its run. It has names in texts only, and lies with the design since boards,
        which know no host, print ``settings_of``, and a package's design brings its own table.
    settings : callable
        A function of the kernel's config that gives ``{field of the run: value}`` of further
        fields, such as the most environments that fit; None if no run fits.
    task : str
        What an environment must have, as a text with ``{}`` in place of each of ``sizes``. Empty:
        any environment fits.
    sizes : callable
        A function of the kernel's config that gives the tuple of sizes for ``task``.
    environments : dict
        ``{sizes: environment}``: known environments, by the tuple of sizes that they have.
    needs : str
        What must be installed for it, as a sentence.
    """

    words: str
    fields: tuple = ()
    settings: Callable = lambda config: {}
    task: str = ""
    sizes: Callable = lambda config: ()
    environments: dict = field(default_factory=dict)
    needs: str = ""

    def settings_of(self, config):
        """``{field of the run: value}`` of a run that fits a kernel with ``config``; None if no run
        fits."""
        further = self.settings(config)
        if further is None:
            return None
        return {each.run: each.of_kernel(config) for each in self.fields} | further


@dataclass(frozen=True, kw_only=True)
class Design:
    """A kernel that can be generated: ``kernel(config)`` is the component that becomes Verilog,
    ``describe(config)`` what host, card and boards know of it, ``documents(config)`` its registers.

    name, summary : str
        Its name on the command line and in Verilog; a sentence that says what it does.
    config_type : type
        Its config class.
    default : callable
        Config from a board's numbers: a dict with data_width (bits of a master), uram (blocks or
        None) and the other resources of the board. Hardware sees numbers, never a board.
    library : callable or None
        As ``default``, for kernels that the Python API generates without options. None: as
        ``default``.
    core : type
        Its ``CommandCore``: commands, status and buffers are declared there.
    errors : dict of code to (name, meaning)
        Its own errors and those of the shell.
    records : callable
        The function of the config that gives ``{section: Layouts}``, sections of the register
        document: what lies in operands and results.
    largest : str
        The buffer that takes most of a memory bank.
    storage : callable
        The function of the config that gives ``(count, bytes)`` of the items that the bank must
        hold.
    items : str
        The name of that count in messages: the config's field, if there is one.
    buffers : callable
        The function of the config that gives ``{buffer: bytes}``, in whole pages, of the buffers
        that the host allocates at once for the largest program of its runtime. A buffer that is not
        named grows with its contents.
    estimate : callable
        The whole kernel's ``Estimate``, from config.
    clocks : callable
        ``{operation: clocks}`` of a kernel of the config, by formulas that tests hold to the
        simulation; empty if there are none.
    schedule : callable
        A picture of when the units of a kernel of the config act, as Markdown for its register
        document; "" if there is none.
    suggest : callable
        The function of a config and a predicate on configs that gives texts of changes that would
        make it fit.
    identity : callable
        What a host must know of a kernel of this config that no layout says, as JSON: the order in
        which records and images lie in buffers, formats of raw numbers, limits that are no field's.
        It is in the kernel's hash, and best derived from what hardware and host compute with.
    check : callable
        A function of the config that raises ValueError if the config is another design's.
    training : Training or None
        None: no host program is known.
    variant : callable
        A function of the config that gives ``{field: value}`` of this class, where a kernel of the
        config has others, such as a core with more commands.
    packed : bool
        Whether registers and adders are meant to lie within DSP blocks. A mapping that leaves them
        outside counts too many.
    """

    name: str
    summary: str
    config_type: type
    default: Callable
    core: type
    errors: dict
    largest: str
    storage: Callable
    estimate: Callable
    records: Callable = lambda config: {}
    items: str = "capacity"
    library: Callable | None = None
    buffers: Callable = lambda config: {}
    clocks: Callable = lambda config: {}
    schedule: Callable = lambda config: ""
    space: Space | None = None
    suggest: Callable = lambda config, fits: []
    identity: Callable = lambda config: {}
    check: Callable = lambda config: None
    training: Training | None = None
    variant: Callable = lambda config: {}
    packed: bool = False

    def of(self, config):
        """The design of a kernel with ``config``, whose core, commands and errors are its own."""
        own = self.variant(config)
        return replace(self, **own) if own else self

    @property
    def commands(self):
        """The command table."""
        return self.core.COMMANDS

    @property
    def status(self):
        """Layout of the design's status block."""
        return self.core.STATUS

    def kernel(self, config):
        return Kernel(self.describe(config), self.of(config).core(config))

    def check_buffers(self, config):
        """UsageError for a buffer that must be larger than its size argument can say, which has 32
        bits: one of ``buffers``, or ``largest`` with all items of ``storage``."""
        declared = {
            each.name: each for each in (*HOST_BUFFERS, *self.of(config).core.buffers_of(config))
        }
        for name, size in self.buffers(config).items():
            if size > declared[name].limit:
                raise UsageError(
                    f"{name} must be a buffer of at most {declared[name].limit} bytes "
                    f"({declared[name].size_name} has 32 bits), not of {size}"
                )
        (count, size), buffer = self.storage(config), declared[self.largest]
        if count * size > buffer.limit:
            raise UsageError(
                f"{self.items} must be at most {buffer.limit // size} ({buffer.size_name} has 32 "
                f"bits), not {count}"
            )

    def describe(self, config):
        self.check(config)
        self.check_buffers(config)
        own = self.of(config)
        buffers = own.core.buffers_of(config)
        arguments = standard_arguments(buffers)
        layouts = [layout for section in self.documents(config).values() for layout in section]
        return KernelDescription(
            name=self.name,
            config=config.to_dict(),
            config_hash=digest(
                config, arguments, [STATUS, *layouts], own.errors, own.identity(config)
            ),
            arguments=arguments,
            verilog=f"{self.name}.v",
            masters=master_descriptions(
                buffers, lambda master: engine_of(config, master).data_width
            ),
        )

    def documents(self, config):
        """Sections of the register document: commands, records, status."""
        own = self.of(config)
        commands = list(own.core.commands_of(config).values())
        return {"Commands": commands, **own.records(config), "Status": [own.status]}


def default_engine(numbers):
    """The ``EngineConfig`` for a board's ``numbers``: ``data_width`` (bits) and ``uram`` (blocks).

    Its bursts are of 1 KB: a write waits until its burst is whole, so longer ones delay every
    batch. If ``uram`` is missing, None or 0, bursts have 8 beats and queues 16, which lookup tables
    hold: the memory of so small a part is its own block RAM, which is scarce and answers at once.
    """
    width = numbers["data_width"]
    if not numbers.get("uram"):
        return EngineConfig(data_width=width, depth=16, burst_beats=8, bursts=4)
    return EngineConfig(data_width=width, burst_beats=8192 // width)
