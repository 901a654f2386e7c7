"""Both ends of every field of every config: kernels are described, estimated and refused alike."""

import itertools
from dataclasses import replace

import pytest
from config_limits import ends, far_config, numbers
from later import later
from legal_configs import FIXED, legal_config

from host.settings import leaves
from hw.designs import DESIGNS
from hw.errors import UsageError
from hw.shell.buffers import HOST_BUFFERS


def answers(design, config):
    """All that is asked of a config before its kernel is written out."""
    assert design.describe(config).config == config.to_dict()
    assert type(config).from_json(config.to_json()) == config
    resources = design.estimate(config).resources
    assert all(number >= 0 for number in resources.values()), resources
    clocks = design.clocks(config)
    assert clocks and all(type(number) is int and number > 0 for number in clocks.values()), clocks


@pytest.mark.parametrize("name", DESIGNS)
def test_both_ends_of_every_field(name):
    """Of so many configs that each field has met both its ends, others as they are: at an end all
    answers come; one step on the config is refused in the words of every error."""
    design, moved = DESIGNS[name], set()
    for seed in itertools.count():
        base = legal_config(name, seed)
        for number, end, step, config in ends(base):
            if end != number.value:
                moved.add(number.field)
            try:
                answers(design, config)
            except Exception as error:
                raise AssertionError(f"{number.place} = {end}: {config.to_json()}") from error
            if not number.is_length or end + step >= 0:
                with pytest.raises(UsageError, match=r" must .* not "):
                    number.put(config, end + step)
        fields = {field for field, value, _ in leaves(base) if not isinstance(value, (bool, str))}
        # One that is left cannot move beside the others, or is a tuple without members.
        if all(field.startswith(FIXED.get(name, "-")) for field in fields - moved):
            break


@pytest.mark.parametrize(
    "name, up",
    [  # Clocks of the largest a3c take half a minute to be counted.
        (later if (name, up) == ("a3c", True) else pytest.param)(name, up, id=f"{name}-{end}")
        for name in DESIGNS
        for end, up in (("smallest", False), ("largest", True))
    ],
)
def test_all_fields_at_once(name, up):
    config = far_config(name, up)
    assert numbers(config) != numbers(legal_config(name, 0))
    answers(DESIGNS[name], config)


@pytest.mark.parametrize("name", DESIGNS)
def test_a_buffer_fits_its_size(name):
    """The size of a buffer has 32 bits, of bytes or of pages; the last one ends with a page."""
    design = DESIGNS[name]
    config = design.config_type()
    if name == "ddpg":
        config = replace(config, learner=replace(config.learner, algorithm=name))
    declared = (*HOST_BUFFERS, *design.core.buffers_of(config))
    for buffer in declared:
        limit = (1 << 44) - 4096 if buffer.large else (1 << 32) - 4096
        for size, fits in ((limit, True), (limit + 1, False)):
            fixed = replace(design, buffers=lambda _, size=size, name=buffer.name: {name: size})
            stored = replace(
                design, storage=lambda _, size=size: (size, 1), largest=buffer.name, items="items"
            )
            if fits:
                fixed.describe(config)
                stored.describe(config)
                continue
            message = f"^{buffer.name} must be a buffer of at most {limit} bytes .*, not of {size}$"
            with pytest.raises(UsageError, match=message):
                fixed.describe(config)
            message = rf"^items must be at most {limit} \({buffer.size_name} .*, not {size}$"
            with pytest.raises(UsageError, match=message):
                stored.describe(config)
