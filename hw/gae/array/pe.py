"""One row: a slot in, an advantage and a reward-to-go out, with lookahead in its only loop.

Interval 1, latency ``PE.latency_of(config)``. HEPPO III-B (lookahead), III-C (PE).
"""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.gae.array.dequantize import dequantize, dequantize_latency, rounded_mac_clocks
from hw.gae.array.rounded_mac import rounded_mac
from hw.gae.layouts import result_layout, slot_layout
from hw.gae.records import Kind
from hw.stream.delay import delay

__all__ = ["PE", "coefficient_ports"]


def coefficient_ports(config):
    """``{name: shape}`` of the numbers of an ESTIMATE, which are the same for every row."""
    return {
        "gamma": config.coefficient.shape,
        "decay": config.coefficient.shape,
        "decay_power": config.coefficient.shape,
        "reward_scale": config.scale.shape,
        "reward_mean": config.word.shape,
        "value_scale": config.scale.shape,
        "value_mean": config.word.shape,
        "result_mean": config.word.shape,
    }


class PE(wiring.Component):
    """Computes GAE for one row. Slots arrive last step first. For slot t, p is the slot that
    arrived just before it, that is the next time step::

        delta(t) = R(t) - V(t) + (t is a STEP ? gamma * V(p) : 0)
        b_1(t) = delta(t),  b_j(t) = delta(t) + m(t) * decay * b_(j-1)(p)
        A(t) = b_k(t) + M(t) * decay_power * A(q)
        advantage = A(t),  reward_to_go = A(t) + V(t) - result_mean

    R and V are the reward and the value as words; k is the config's lookahead; q is the slot that
    arrived k slots before t, which is k time steps later; m(t) is 1 if t is a STEP, else 0; M(t) is
    the product of m over t and the k - 1 slots that arrived just before t.

    Nothing crosses from one trajectory to another, because the p of a STEP belongs to
    the same trajectory, and for a BOOTSTRAP all of the above are 0. Every product is rounded half
    up (``rounded_mac``). V is 0 if the slot's kind has no value. Results are rounded to
    2**``config.result_shift`` and clipped to +-``config.result_limit``; slots that are neither STEP
    nor TERMINAL have results of 0.

    Parameters
    ----------
    config : GaeConfig

    Members
    -------
    i : In({kind, reward, value})
        A slot in every clock, of kind NONE if there is none.
    <coefficient_ports(config)> : In
        gamma, decay = gamma * lambda, decay_power = decay**k, result_mean, and the scales and means
        that turn codes into R and V. Steady.
    o : Out({advantage, reward_to_go})
        Registered results of the slot that came ``latency_of`` clocks ago.
    saturated : Out(1)
        With ``o``: one of its two results was clipped.
    overflow : Out(1)
        With ``o``: a sum of this slot was too large for a word, and wrapped.
    """

    INTERVAL = 1

    def __init__(self, config):
        self.config = config
        super().__init__(
            {
                "i": In(slot_layout(config).elem_shape),
                **{name: In(shape) for name, shape in coefficient_ports(config).items()},
                "o": Out(result_layout(config).elem_shape),
                "saturated": Out(1),
                "overflow": Out(1),
            }
        )

    @staticmethod
    def latency_of(config):
        """Clocks from a slot to its results: input register, loaders, subtraction; k blends and the
        loop; rounding, clipping."""
        blends = config.lookahead * rounded_mac_clocks(config)
        return 1 + dequantize_latency(config) + 1 + blends + config.lookahead + 2

    def elaborate(self, platform):
        m = Module()
        config, word = self.config, self.config.word
        # Reset, unlike what follows, so that no slot before the first can be taken for its p.
        kind = Signal(Kind)
        m.d.sync += kind.eq(self.i.kind)
        step, active, present = Signal(), Signal(), Signal()
        m.d.comb += [
            step.eq(kind == Kind.STEP),
            active.eq(step | (kind == Kind.TERMINAL)),
            present.eq(kind != Kind.NONE),
        ]

        # A stage is the clocks that a number is behind ``kind``.
        stage = dequantize_latency(config)
        reward, value, overflow = self._load(m)
        is_active = delay(m, active, stage, name="is_active")
        is_present = delay(m, present, stage, name="is_present")
        overflow = delay(
            m, (overflow[0] & is_active) | (overflow[1] & is_present), 1, name="load_overflow"
        )
        difference = Signal(signed(word.width + 1))
        masked = Signal(word.shape)
        m.d.comb += [
            difference.eq(Mux(is_active, reward - value, 0)),
            masked.eq(Mux(is_present, value, 0)),
        ]
        difference = delay(m, difference, 1, name="difference")
        value = delay(m, masked, 1, name="value")
        stage += 1

        # Without a register in a loop: x is of the slot before, a clock further.
        clocks, first = rounded_mac_clocks(config), stage
        total, overflow = self._blend(
            m, stage, difference, self.gamma, step, delay(m, value, 1, name="value_before"),
            overflow, clocks=clocks, name="delta",
        )  # fmt: skip
        delta, stage = total, stage + clocks
        for j in range(2, config.lookahead + 1):
            total, overflow = self._blend(
                m, stage, delay(m, delta, (j - 2) * clocks, name=f"delta_{j}"), self.decay, step,
                delay(m, total, 1, name=f"b_{j}_before"), overflow, clocks=clocks, name=f"b_{j}",
            )  # fmt: skip
            stage += clocks

        run = [delay(m, step, k, name=f"step_{k}") for k in range(config.lookahead)]
        chained = Signal()
        m.d.comb += chained.eq(Cat(run).all())
        advantage = Signal(word.shape)
        total, overflow = self._blend(
            m, stage, total, self.decay_power, chained, advantage,
            overflow, clocks=config.lookahead, name="advantage",
        )  # fmt: skip
        m.d.comb += advantage.eq(total)
        stage += config.lookahead

        is_active = delay(m, active, stage + 1, name="is_result")
        value = delay(m, value, stage - first - 1, name="value_kept")
        self._finish(m, advantage, value, is_active)
        m.d.comb += self.overflow.eq(delay(m, overflow, 2, name="overflow"))
        return m

    def _load(self, m):
        """Returns reward and value as words, and their overflows."""
        config = self.config
        codes = [delay(m, self.i[name], 1, name=f"{name}_code") for name in ("reward", "value")]
        reward, reward_overflow = dequantize(
            m, config, codes[0], self.reward_scale, self.reward_mean, name="reward"
        )
        value, value_overflow = dequantize(
            m, config, codes[1], self.value_scale, self.value_mean, name="value"
        )
        return reward, value, (reward_overflow, value_overflow)

    def _blend(self, m, stage, addend, setting, flag, x, overflow, *, clocks, name):
        """One step of lookahead at ``stage``: adds the product with ``setting`` if ``flag``.
        Returns its overflow, joined with the one before."""
        config = self.config
        coefficient = Signal(config.coefficient.shape, name=f"{name}_setting")
        m.d.comb += coefficient.eq(Mux(delay(m, flag, stage - 1, name=f"{name}_on"), setting, 0))
        value, wrapped = rounded_mac(
            m,
            addend,
            delay(m, coefficient, 1, name=f"{name}_coefficient"),
            x,
            clocks=clocks,
            shape=config.word.shape,
            fraction=config.coefficient.fraction,
            name=name,
        )
        return value, delay(m, overflow, clocks, name=f"{name}_overflow") | wrapped

    def _finish(self, m, advantage, value, is_active):
        """Rounds and clips the results. ``value`` is that of the clock before ``advantage``.

        ``is_active`` belongs to the clock of the clipping.
        """
        config = self.config
        shift = config.result_shift
        half = 1 << shift >> 1
        offset = delay(m, value + (half - self.result_mean), 1, name="offset")
        rounded = {
            "advantage": delay(m, (advantage + half)[shift:].as_signed(), 1, name="rounded"),
            "reward_to_go": delay(m, (advantage + offset)[shift:].as_signed(), 1, name="rounded_g"),
        }
        outside = []
        for name, number in rounded.items():
            result, beyond = _clip(number, config.result_limit)
            m.d.sync += self.o[name].eq(Mux(is_active, result, 0))
            outside.append(beyond)
        m.d.sync += self.saturated.eq(is_active & Cat(outside).any())


def _clip(number, limit):
    """Returns ``(clipped, beyond)``: a signed number clipped to +-``limit`` (of the form 2**n - 1),
    and whether it was."""
    width = limit.bit_length() + 1
    if len(number) < width:
        return number, Const(0)
    sign, above = number[-1], number[width - 1 :]
    lowest = sign & ~number[: width - 1].any()
    beyond = (above.any() & ~above.all()) | lowest
    return Mux(beyond, Mux(sign, -limit, limit), number[:width].as_signed()), beyond
