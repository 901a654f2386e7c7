"""Config of the kernel ``a3c``: a network of convolutions and fully connected layers, and the
compute units that execute it."""

from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from math import gcd

from hw.config import ConfigBase, check_flag, check_range, freeze_lists
from hw.errors import UsageError
from hw.fa3c.layer import layers_of
from hw.fa3c.rows import ROW, ROW_BYTES
from hw.shell.axi import EngineConfig
from hw.shell.buffers import MAX_BYTES
from hw.shell.command import MAX_BEATS, round_up

__all__ = ["LAYOUTS", "LINE_ROWS", "MOST_AGENTS", "MOST_SNAPSHOTS", "ROLES", "SLOTS", "Fa3cConfig"]

#: Partial sums of a PE.
SLOTS = 32
#: Rows of a line of a feature map, at most.
LINE_ROWS = 32

#: Agents that have a rollout, and local copies of theta, at most.
MOST_AGENTS, MOST_SNAPSHOTS = 256, 64

#: Roles of a compute unit: it executes inferences, trainings, or both.
ROLES = ("infer", "train", "any")

#: How BW gets its weights: FA3C's transpose unit (4.4), and its alternatives (5.4).
LAYOUTS = ("tlu", "alt1", "alt2")


@dataclass(frozen=True, kw_only=True)
class Fa3cConfig(ConfigBase):
    """The whole kernel ``a3c``. A field that breaks a rule raises ValueError.

    height, width, channels : shape of an observation.
    binary32 : whether observations are binary32; otherwise they are bytes.
    input_exponent : a byte stands for byte * 2**input_exponent.
    convolutions : 0 to 4 of (filters, kernel, stride), as a text 16:8:4,32:4:2, without padding,
        each followed by ReLU.
    hidden : widths of 0 to 2 fully connected layers with ReLU.
    outputs : outputs of the last layer, which is linear: logits of the actions, then the value.
    lanes : a compute unit has lanes x 16 PEs.
    units : the role of each of 1 to 8 compute units, "infer", "train" or "any".
    layout : how BW gets its weights: "tlu", by a transpose unit, or as one of FA3C's alternatives:
        "alt1", from the rows of FW, or "alt2", from a second image of theta, which is transposed.
    batch : agents of one inference, at most.
    steps : samples of a training task, at most (t_max).
    agents : number of agents that have a rollout.
    snapshots : number of local copies of theta.
    tasks : tasks of one ROUND, at most.
    rms_units : parameters that RMSProp updates at a time (RUs, FA3C 4.2.3).
    drain_words : words of outputs that a compute unit makes from its sums in a clock.
    parameter_rows : rows of a unit's parameter buffer; the largest convolution must fit.
    ultra_ram : whether memories of 2048 rows and more may be UltraRAM.
    global_masters : masters of theta and squares: 1 for both, or 2, one for each.
    local_masters : masters over which snapshots and rollouts are spread, in blocks of 16 rows: 2,
        4 or 8.
    engine : width and bursts of all masters.
    """

    height: int = 84
    width: int = 84
    channels: int = 4
    binary32: bool = False
    input_exponent: int = -8
    convolutions: tuple = ((16, 8, 4), (32, 4, 2))
    hidden: tuple = (256,)
    outputs: int = 19
    lanes: int = 4
    units: tuple = ("infer", "train", "infer", "train")
    layout: str = "tlu"
    batch: int = 4
    steps: int = 5
    agents: int = 16
    snapshots: int = 4
    tasks: int = 32
    rms_units: int = 8
    drain_words: int = 2
    parameter_rows: int = 4096
    ultra_ram: bool = True
    global_masters: int = 1
    local_masters: int = 2
    engine: EngineConfig = EngineConfig(burst_beats=16)

    def __post_init__(self):
        names = ("convolutions", "hidden", "units")
        freeze_lists(self, *names)
        for name in names:
            if not isinstance(getattr(self, name), tuple):
                raise UsageError(f"{name} must be a tuple, not {getattr(self, name)!r}")
        self._check_network()
        self._check_units()
        for number, layer in enumerate(self.layers):
            self._check_layer(number, layer)
        most = MAX_BEATS * self.engine.beat_bytes // ROW_BYTES
        check_range("rows of parameters", self.snapshot_rows, 1, most, ", the beats of a request")
        if self.local_bytes > MAX_BYTES:
            raise UsageError(
                f"local_bytes must be at most {MAX_BYTES} (snapshots, and rollouts of agents x "
                f"steps, on each of {self.local_masters} local_masters), not {self.local_bytes}"
            )
        # Requests for maps are shorter than that, also for a whole batch: a line of a convolution
        # has at most LINE_ROWS rows, a dense layer has a row of parameters for each input.

    def _check_network(self):
        for name in ("height", "width", "channels"):
            check_range(name, getattr(self, name), 1, 1024)
        for name in ("binary32", "ultra_ram"):
            check_flag(name, getattr(self, name))
        check_range("input_exponent", self.input_exponent, -64, 64)
        if len(self.convolutions) > 4:
            raise UsageError(
                f"convolutions must be at most 4 of (filters, kernel, stride), "
                f"not {self.convolutions!r}"
            )
        for shape in self.convolutions:
            if not isinstance(shape, tuple) or len(shape) != 3:
                raise UsageError(
                    "convolutions must be (filters, kernel, stride) each, as a text "
                    f"16:8:4,32:4:2, not {shape!r}"
                )
            filters, kernel, stride = shape
            check_range("filters", filters, 1, 512)
            check_range("kernel", kernel, 1, 16)
            check_range("stride", stride, 1, kernel, " (the kernel)")
        if len(self.hidden) > 2:
            raise UsageError(f"hidden must be at most 2 widths, not {self.hidden!r}")
        for width in self.hidden:
            check_range("hidden", width, 1, 4096)
        check_range("outputs", self.outputs, 2, 512)

    def _check_units(self):
        if self.lanes not in (1, 2, 4, 8, 16):
            raise UsageError(f"lanes must be 1, 2, 4, 8 or 16, not {self.lanes!r}")
        if not 1 <= len(self.units) <= 8:
            raise UsageError(f"units must be 1 to 8 roles, not {self.units!r}")
        for role in self.units:
            if role not in ROLES:
                raise UsageError(f"units must be of {', '.join(ROLES)}, not {role!r}")
        for work in ("infer", "train"):
            if not self.units_for(work):
                raise UsageError(f"units must have one that can {work}, not {self.units!r}")
        if self.layout not in LAYOUTS:
            raise UsageError(f"layout must be {', '.join(LAYOUTS)}, not {self.layout!r}")
        check_range("batch", self.batch, 1, 8)
        check_range("steps", self.steps, 1, SLOTS)
        check_range("agents", self.agents, self.batch, MOST_AGENTS, " (no fewer than the batch)")
        check_range("snapshots", self.snapshots, 1, MOST_SNAPSHOTS)
        check_range("tasks", self.tasks, 1, 256)
        for name in ("rms_units", "drain_words"):
            if getattr(self, name) not in (1, 2, 4, 8, 16):
                raise UsageError(f"{name} must be 1, 2, 4, 8 or 16, not {getattr(self, name)!r}")
        check_range("parameter_rows", self.parameter_rows, 64, 1 << 16)
        check_range("global_masters", self.global_masters, 1, 2)
        if self.local_masters not in (2, 4, 8):
            raise UsageError(f"local_masters must be 2, 4 or 8, not {self.local_masters!r}")

    def _check_layer(self, number, layer):
        """The limits that a compute unit sets: slots, lines, rows of parameters."""
        name = f"layer {number}"
        if layer.out_height < 1 or layer.out_width < 1:
            raise UsageError(f"{name} must have an output, not a kernel larger than its input")
        if not layer.convolution:
            if layer.per_row // self.lanes >= SLOTS:
                raise UsageError(
                    f"lanes must be at least 4 where bytes enter a fully connected layer, "
                    f"not {self.lanes!r}: binary32 inputs would fit"
                )
            return
        check_range(f"{name}: output width", layer.out_width, 1, SLOTS, ", the slots of a PE")
        check_range(f"{name}: rows of an input line", layer.line_rows, 1, LINE_ROWS)
        check_range(
            f"{name}: rows of parameters", layer.rows, 1, self.parameter_rows, " (parameter_rows)"
        )
        if number:
            check_range(f"{name}: input width", layer.in_width, 1, SLOTS, ", the slots of a PE")
            line = layer.out_width * layer.groups
            check_range(f"{name}: rows of an output line", line, 1, LINE_ROWS)

    @property
    def in_channels(self):
        """Channels of an observation, with padding: a chunk of ``lanes`` words begins at each
        position of the first convolution and at each of its tap rows."""
        steps = [gcd(kernel, stride) for _, kernel, stride in self.convolutions[:1]]
        return round_up(self.channels, self.lanes // gcd(self.lanes, *steps) if steps else 1)

    @property
    def partials(self):
        """Number of partial sums of each output of a fully connected layer, 1 or 2. Chunks of
        ``lanes`` inputs go to them in turn."""
        return 2 if self.lanes < 8 else 1

    @property
    def error_partials(self):
        """Number of partial sums of each error of a fully connected layer's inputs: ``partials``,
        or 1 if the slots of a PE are too few for those of ``steps`` samples."""
        return self.partials if self.steps * self.partials <= SLOTS else 1

    def units_for(self, work):
        """Numbers of the units whose role allows ``work``, "infer" or "train"."""
        return tuple(n for n, role in enumerate(self.units) if role in (work, "any"))

    @property
    def samples(self):
        """Samples for which a feature buffer has room."""
        return max(self.batch, self.steps)

    @cached_property
    def layers(self):
        """Every ``Layer``, first to last."""
        return layers_of(self)

    @cached_property
    def map_rows(self):
        """Rows of the maps of one sample: the observation, then the output of each layer."""
        return (self.layers[0].in_rows, *(layer.out_rows for layer in self.layers))

    @cached_property
    def map_bases(self):
        """First row, in a feature buffer, of each map of sample 0: the observation, then the output
        of each layer. The map of sample b begins b times the map's rows later."""
        return tuple(accumulate((self.samples * rows for rows in self.map_rows), initial=0))[:-1]

    @property
    def feature_rows(self):
        """Rows of a feature buffer."""
        return self.samples * sum(self.map_rows)

    @cached_property
    def parameter_bases(self):
        """First row of each layer's parameters in theta."""
        return tuple(accumulate((layer.rows for layer in self.layers), initial=0))[:-1]

    @cached_property
    def theta_rows(self):
        """Rows of theta; squares have as many."""
        return sum(layer.rows for layer in self.layers)

    @property
    def transposed_rows(self):
        """Rows of the transposed image of theta, which ``layout`` "alt2" has: of all layers but the
        first, which has no BW."""
        return self.theta_rows - self.layers[0].rows if self.layout == "alt2" else 0

    @property
    def transposed_base(self):
        """Rows from a patch of theta to that of its transposed image."""
        return self.theta_rows - self.layers[0].rows

    @cached_property
    def snapshot_rows(self):
        """Rows of a snapshot, and of the buffer of theta: theta, then its transposed image."""
        return self.theta_rows + self.transposed_rows

    @property
    def request_rows(self):
        """Rows of the longest request to memory: a snapshot, a sample's map, or a task's
        observations, outputs or errors."""
        observations, others = self.batch * self.map_rows[0], self.samples * self.map_rows[-1]
        return max(self.snapshot_rows, *self.map_rows, observations, others)

    @property
    def theta_bytes(self):
        """Bytes of theta, as LOAD and STORE move it; squares have as many."""
        return self.theta_rows * ROW_BYTES

    @property
    def buffer_bytes(self):
        """``{name: bytes}`` of the buffers beside the host's."""
        images = {"theta": self.snapshot_rows * ROW_BYTES, "squares": self.theta_bytes}
        return images | dict.fromkeys(self.local_names, self.local_bytes)

    @property
    def local_names(self):
        """Names of the local masters, each with one buffer of the same name."""
        return tuple(f"local{number}" for number in range(self.local_masters))

    @cached_property
    def step_rows(self):
        """Rows that one step of an agent's rollout takes: the inputs of every layer."""
        return sum(self.map_rows[:-1])

    @property
    def local_rows(self):
        """Rows of local memory on all masters together: first snapshots, then rollouts."""
        return self.snapshots * self.snapshot_rows + self.agents * self.steps * self.step_rows

    @property
    def local_bytes(self):
        """Bytes of local memory on one master."""
        blocks = -(-self.local_rows // (ROW * self.local_masters))
        return blocks * ROW * ROW_BYTES

    def rollout_row(self, agent, step):
        """First row of a step of an agent's rollout; rows count over all local masters."""
        return self.snapshots * self.snapshot_rows + (agent * self.steps + step) * self.step_rows

    @property
    def screen_bytes(self):
        """Bytes of one observation in operands."""
        return self.map_rows[0] * ROW_BYTES

    @property
    def output_bytes(self):
        """Bytes of one sample's outputs in results; its errors in operands have as many."""
        return self.map_rows[-1] * ROW_BYTES
