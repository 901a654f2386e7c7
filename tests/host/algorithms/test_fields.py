"""Fields of the agents' configs: what each is where nobody sets it, and where its rule ends."""

import math
from dataclasses import fields

import pytest

from host.agents.registry import ALGORITHMS
from host.algorithms.activation import ACTIVATIONS
from host.rules import FINITE, FRACTION, NOT_NEGATIVE, POSITIVE, Integer, Number, rules
from host.settings import text_of

_ACTIVATIONS = ", ".join(ACTIVATIONS)
#: Of every agent: a default and, where it is not the field's type alone, what the field may be.
EVERY = f"""
activation relu: {_ACTIVATIONS}
gamma 0.99: in [0, 1]
learning_rate_final none: at least 0 and finite or none
learning_rate_steps none: 0 to 2^40 or none
optimizer_epsilon 1e-08: positive and finite
"""

#: Of those that learn from a replay memory.
REPLAY = """
batch_size 64: 1 to 2^16
max_gradient_norm none: positive and finite or none
n_step 1: 1 to 1000
reward_scale 1.0: positive and finite
reward_clip none: positive and finite or none
optimizer adam: adam, rmsprop, sgd
beta1 0.9: in [0, 1)
beta2 0.999: in [0, 1)
decay 0.99: in [0, 1)
momentum 0.0: in [0, 1)
loss squared: huber, squared, mse
huber_delta 1.0: positive and finite
target_interval 1: 1 to 2^31
target_tau 0.005: in (0, 1]
beta_start 0.4: in [0, 1]
beta_end 1.0: in [0, 1]
beta_steps none: 0 to 2^40 or none
"""

#: Of deterministic actors.
NOISE = """
noise_start 1.0: in [0, 10]
noise_end 0.1: in [0, 10]
noise_share 0.125: in [0, 1]
noise gaussian: gaussian, ornstein_uhlenbeck
noise_theta 0.15: in (0, 1]
first_weights kaiming: kaiming, lillicrap
"""

CONVOLUTIONS = (
    "convolutions none: filters:kernel:stride with commas between them, such as 16:8:4,32:4:2 "
    "or none\n"
)

#: What is an algorithm's own; of equal names the last counts.
WANTED = {
    "dqn": EVERY + REPLAY + CONVOLUTIONS + """
hidden 256,256:
learning_rate 0.002: positive and finite
max_gradient_norm 10.0: positive and finite or none
n_step 5: 1 to 1000
loss huber: huber, squared, mse
target_interval 20: 1 to 2^31
target_tau 1.0: in (0, 1]
dueling false: true or false
double true: true or false
epsilon_start 1.0: in [0, 1]
epsilon_end 0.05: in [0, 1]
epsilon_steps none: 0 to 2^40 or none
epsilon_share 0.05: in [0, 1]
""",
    "ddpg": EVERY + REPLAY + NOISE + """
hidden 64,64:
gamma 0.98: in [0, 1]
learning_rate 0.004: positive and finite
actor_learning_rate 0.002: positive and finite
n_step 3: 1 to 1000
reward_scale 0.1: positive and finite
loss huber: huber, squared, mse
target_tau 0.02: in (0, 1]
noise_steps none: 0 to 2^40 or none
lagged_critic true: true or false
precision float32: float32, fixed32, qat, qat_errors_full, fixed16_captured, fixed16_static, \
fixed16_all
quantization_delay none: 0 to 2^40 or none
quantization_window 1.0: in (0, 1]
activation_bits 16: 8 to 16
""",
    "td3": EVERY + REPLAY + NOISE + """
hidden 256,256:
batch_size 256: 1 to 2^16
learning_rate 0.0003: positive and finite
actor_learning_rate 0.0003: positive and finite
target_interval none: none
noise_steps 10000: 0 to 2^40 or none
policy_delay 2: 1 to 1000
target_noise 0.2: at least 0 and finite
target_noise_clip 0.5: at least 0 and finite
critic_error_shift 0: -8 to 8
actor_error_shift 0: -8 to 8
""",
    "sac": EVERY + REPLAY + """
hidden 256,256:
batch_size 256: 1 to 2^16
learning_rate 0.0003: positive and finite
entropy_coefficient 1.0: positive and finite
learn_entropy_coefficient true: true or false
target_entropy none: finite or none
""",
    "ppo": EVERY + f"""
hidden 64,64:
activation tanh: {_ACTIVATIONS}
gamma 0.98: in [0, 1]
batch_size 256: 1 to 2^16
learning_rate 0.001: positive and finite
optimizer_epsilon 1e-05: positive and finite
max_gradient_norm 0.5: positive and finite or none
normalize_observations false: true or false
gae_lambda 0.9: in [0, 1]
epochs 10: 1 to 1024
clip 0.2: positive and finite
value_clip none: positive and finite or none
value_coefficient 0.5: at least 0 and finite
entropy_coefficient 0.0: at least 0 and finite
normalize_advantages true: true or false
target_kl none: positive and finite or none
log_deviation 0.0: in [-10, 2]
rewards raw:
values raw:
code_width 32: 8, 16, 32
code_bits none: 3 to 16 or none
result_width 32: 8, 16, 32
""",
    "a3c": EVERY + CONVOLUTIONS + """
hidden 128:
activation relu: relu
batch_size 5: 1 to 32
learning_rate 0.0007: positive and finite
optimizer_epsilon 0.1: positive and finite
max_gradient_norm none: none
decay 0.99: in [0, 1]
value_coefficient 0.25: at least 0 and finite
entropy_coefficient 0.01: at least 0 and finite
reward_clip none: positive and finite or none
""",
}  # fmt: skip


def lines(algorithm):
    """``{field: default and rule}`` of a config as it is."""
    config, found = algorithm.config(), rules(algorithm.config)
    for field in fields(config):
        rule, optional = found.get(field.name, ("", False))
        text = f"{text_of(getattr(config, field.name))}: {rule}{' or none' if optional else ''}"
        yield field.name, text.strip()


@pytest.mark.parametrize("algo", ALGORITHMS)
def test_defaults_and_rules(algo):
    """What `rlfabric show` says, and runs with no ``--set`` are; some numbers are a paper's."""
    wanted = dict(line.split(" ", 1) for line in WANTED[algo].splitlines() if line)
    assert dict(lines(ALGORITHMS[algo])) == wanted


#: Rule in words -> what is just inside, what is just outside.
ENDS = {
    str(FINITE): ((-1e300, 1e300), (math.inf, -math.inf, math.nan)),
    str(FRACTION): ((0, 1), (-1e-9, 1 + 1e-9, math.nan)),
    str(POSITIVE): ((1e-300, 1e300), (0, -1e-300, math.inf, math.nan)),
    str(NOT_NEGATIVE): ((0, 1e300), (-1e-300, math.inf, math.nan)),
    "in [0, 1)": ((0, 1 - 1e-9), (-1e-9, 1, math.nan)),
    "in (0, 1]": ((1e-9, 1), (0, 1 + 1e-9, math.nan)),
    "in [0, 10]": ((0, 10), (-1e-9, 10 + 1e-9, math.nan)),
    "in [-10, 2]": ((-10, 2), (-10 - 1e-9, 2 + 1e-9, math.nan)),
}


#: What another field must be, for a field to have what its rule allows.
BESIDE = {"code_bits": {"code_width": 16}, "activation_bits": {"precision": "qat"}}


@pytest.mark.parametrize("algo", ALGORITHMS)
def test_rules_end_where_their_words_say(algo):
    for name, (rule, _) in rules(ALGORITHMS[algo].config).items():
        if isinstance(rule, Integer):
            inside, outside = (rule.low, rule.high), (rule.low - 1, rule.high + 1, 1.5, True)
        elif isinstance(rule, Number):
            inside, outside = ENDS[str(rule)]
        else:
            continue
        for value in inside:
            assert ALGORITHMS[algo].config(**{name: value}, **BESIDE.get(name, {}))
        for value in (*outside, "1"):
            with pytest.raises(ValueError, match=f"^{name} must be .*, not {value!r}$"):
                ALGORITHMS[algo].config(**{name: value})


@pytest.mark.parametrize("algo", ALGORITHMS)
def test_widths_and_schedules_that_were_given(algo):
    """65536 is the widest layer; a schedule of no steps is one."""
    kind = ALGORITHMS[algo].config
    assert kind(hidden=[65_536, 1]).hidden == (65_536, 1)
    for width in (0, 65_537):
        with pytest.raises(ValueError, match=rf"^hidden must be .* in 1\.\.65536, not {width}$"):
            kind(hidden=(width,))
    assert kind(learning_rate_steps=0).in_run(100).learning_rate_steps == 0


@pytest.mark.parametrize("name", ["rewards", "values"])
def test_ppo_refuses_what_its_estimator_would(name):
    """When the config is made, not when the run begins."""
    with pytest.raises(ValueError, match=f"^{name} must be one of raw, .*, not 'mean'$"):
        ALGORITHMS["ppo"].config(**{name: "mean"})


def test_codes_of_ppo_have_bits_that_fit():
    kind = ALGORITHMS["ppo"].config
    assert kind(code_width=8, code_bits=5).standardization.code_bits == 5
    with pytest.raises(ValueError, match="^code_bits must be at most 8, as code_width, not 9$"):
        kind(code_width=8, code_bits=9)
    with pytest.raises(ValueError, match="^code_bits must be none if code_width is 32, not 8$"):
        kind(code_bits=8)
