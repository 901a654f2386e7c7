"""Both ends of every field of every config: kernels are described, estimated and refused alike."""

import itertools
from dataclasses import dataclass, replace

import pytest
from config_limits import ends, far_config, full_config
from later import later
from legal_configs import FIXED, legal_config

from host.settings import leaves
from hw.config import ConfigBase, check_range
from hw.designs import DESIGNS
from hw.errors import UsageError
from hw.shell.buffers import HOST_BUFFERS, MAX_BYTES, Buffer


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
    """Each field of the first config where it moves, others as they are: at an end all answers
    come; one step on the config is refused in the words of every error."""
    design, moved = DESIGNS[name], set()
    for seed in itertools.count():
        base, before = legal_config(name, seed), set(moved)
        for number, end, step, config in ends(base):
            if number.field in before:
                continue
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


@pytest.mark.parametrize("name", DESIGNS)
def test_all_fields_at_their_smallest(name):
    answers(DESIGNS[name], far_config(name, up=False))


@pytest.mark.parametrize("name", [later(n) if n == "a3c" else n for n in DESIGNS])
def test_all_fields_at_their_largest(name):
    """Clocks of the largest a3c take half a minute to be counted."""
    answers(DESIGNS[name], far_config(name, up=True))


def buffers_of(name):
    """``(config, buffer, its largest size)`` of every buffer of a design."""
    config = legal_config(name, 0)
    for buffer in (*HOST_BUFFERS, *DESIGNS[name].core.buffers_of(config)):
        yield config, buffer, (1 << (44 if buffer.large else 32)) - 4096


@pytest.mark.parametrize("name", DESIGNS)
def test_a_buffer_fits_its_size(name):
    """The size of a buffer has 32 bits, of bytes or of pages; the last one ends with a page."""
    for config, buffer, most in buffers_of(name):
        whole, beyond = (
            replace(DESIGNS[name], buffers=lambda _, size=size, name=buffer.name: {name: size})
            for size in (most, most + 1)
        )
        whole.describe(config)
        message = f"^{buffer.name} must be a buffer of at most {most} bytes .*, not of {most + 1}$"
        with pytest.raises(UsageError, match=message):
            beyond.describe(config)


@pytest.mark.parametrize("name", DESIGNS)
def test_all_items_fit_the_largest_buffer(name):
    for config, buffer, most in buffers_of(name):
        whole, beyond = (
            replace(
                DESIGNS[name],
                storage=lambda _, size=size: (size, 1),
                largest=buffer.name,
                items="items",
            )
            for size in (most, most + 1)
        )
        whole.describe(config)
        message = rf"^items must be at most {most} \({buffer.size_name} .*, not {most + 1}$"
        with pytest.raises(UsageError, match=message):
            beyond.describe(config)


@dataclass(frozen=True, kw_only=True)
class Stub(ConfigBase):
    number: int = 4
    members: tuple = (3, 3)

    def __post_init__(self):
        check_range("number", self.number, -5, 1000)
        if self.number > 0 and self.number & (self.number - 1):
            raise UsageError(f"number must be a power of two, not {self.number}")
        check_range("members", len(self.members), 1, 3)
        for member in self.members:
            check_range("member", member, 2, 77)


def ends_of(place):
    """``[smallest, largest]`` of a place of the stub."""
    return [end for number, end, _, _ in ends(Stub()) if number.place == place]


def test_ends_of_powers_of_two():
    assert ends_of("number") == [-5, 512]


def test_ends_of_a_member_of_a_tuple():
    assert ends_of("members[1]") == [2, 77]


def test_ends_of_the_length_of_a_tuple():
    assert ends_of("members length") == [1, 3]


def test_a_config_at_an_end_has_others_as_they_were():
    changed = [config for number, _, _, config in ends(Stub()) if number.place == "members[0]"]
    assert changed == [Stub(members=(2, 3)), Stub(members=(77, 3))]


def test_numbers_that_do_not_fit_stay():
    config = far_config("replay", True, lambda config: config.replay.capacity <= 1000)
    assert config.replay.capacity <= 1000 and config.replay.fanout == 64


def test_random_configs_of_the_whole_space_are_drawn_again():
    first, again = ([full_config("gae", seed) for seed in range(5)] for _ in range(2))
    assert first == again and len(set(first)) == 5


def test_random_configs_fit():
    configs = [full_config("gae", seed, lambda each: each.gae.rows <= 5) for seed in range(40)]
    assert max(config.gae.depth for config in configs) > 5 >= max(c.gae.rows for c in configs)


def test_the_last_page_of_a_buffer_is_whole():
    assert Buffer(name="any").limit == MAX_BYTES == (1 << 32) - 4096
    assert Buffer(name="any", large=True).limit == (1 << 44) - 4096
