"""Algorithm 1 against a plain search in fractions, and what must not change its choice."""

from fractions import Fraction
from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from host.compose.assignment import Sizes
from tests.host.assign_tables import near, tried

NAMES = ("cpu0", "card0", "gpu0", "card1")
NUMBER = st.integers(1, 9)


@st.composite
def tables(draw):
    """``(devices, links, rows, sizes)`` with small numbers, so that many pairs are equal."""
    names = NAMES[: draw(st.integers(1, 4))]
    devices = {name: draw(NUMBER) for name in names}
    links = {}
    for k, a in enumerate(names):
        for b in names[k:]:
            if "cpu0" in (a, b) or a == b or draw(st.booleans()):
                links[f"{a} {b}"] = draw(NUMBER), draw(st.sampled_from((1, 2, 4, 8)))
    some = st.none() | NUMBER if len(names) > 1 else NUMBER
    rows = {
        f"{name} {placed}": tuple(draw(some if name != "cpu0" else NUMBER) for _ in range(4))
        for name, placed in product(names, ("apart", "both"))
    }
    sizes = Sizes(batch=draw(NUMBER), inserts=draw(NUMBER), words=draw(NUMBER))
    return devices, links, rows, sizes


def plain(devices, links, rows, sizes, added, metric):
    """Algorithm 1 in fractions: ``(RM, learner, storage, T, traffic)`` of the choice."""

    def send(a, b, words, latency=1):
        ways = [(a, b)] if {f"{a} {b}", f"{b} {a}"} & {*links} else [("cpu0", a), ("cpu0", b)]
        found = [links.get(f"{x} {y}") or links[f"{y} {x}"] for x, y in ways]
        return sum(latency * lat + Fraction(4 * words, 1000 * bw) for lat, bw in found)

    best = []
    batch, inserts, words = sizes.batch, sizes.inserts, sizes.words
    for i, j in product(devices, devices):
        s, n, u, _ = rows[f"{i} {'both' if i == j else 'apart'}"]
        learn = rows[f"{j} {'both' if i == j else 'apart'}"][3]
        if None in (s, n, u, learn):
            continue
        if added and i != j:
            s, u = s + send(i, j, batch), u + send(j, i, batch)
        if added and i != "cpu0":
            n += send("cpu0", i, inserts)
        total = s + max(n, u + learn)
        counts = ((j, batch * (words + 1)), ("cpu0", inserts * words), (i, batch))
        places = [
            (sum(send(p, q, count, 0) for q, count in counts), k, p)
            for k, (p, _) in enumerate(counts)
        ]
        traffic, _, storage = min(places)
        power = sum(devices[name] for name in {"cpu0", i, j}) if metric == "efficiency" else 1
        best.append((total * power, traffic, len(best), i, j, storage, total))
    _, traffic, _, i, j, storage, total = min(best)
    return i, j, storage, total, traffic


@given(tables(), st.sampled_from(("included", "added")),
       st.sampled_from(("throughput", "efficiency")))  # fmt: skip
@settings(max_examples=50, deadline=None)
def test_as_a_plain_search(table, transfers, metric):
    choice = tried(*table, transfers=transfers, metric=metric).choice
    rm, learner, storage, total, traffic = plain(*table, transfers == "added", metric)
    assert (choice.rm, choice.learner, choice.storage) == (rm, learner, storage)
    assert choice.iteration_us == near(float(total)) and choice.traffic_us == near(float(traffic))


@given(tables(), st.sampled_from((0.125, 3, 1024)))
@settings(max_examples=20, deadline=None)
def test_the_unit_of_time_does_not_matter(table, factor):
    devices, links, rows, sizes = table
    scaled = {
        key: tuple(None if x is None else factor * x for x in row) for key, row in rows.items()
    }
    before, after = (tried(devices, links, each, sizes).choice for each in (rows, scaled))
    assert (after.rm, after.learner, after.storage) == (before.rm, before.learner, before.storage)
    assert after.iteration_us == near(factor * before.iteration_us)


@given(tables(), st.sampled_from(("throughput", "efficiency")))
@settings(max_examples=20, deadline=None)
def test_a_slower_device_changes_nothing(table, metric):
    """One that is slower in all than all others."""
    devices, links, rows, sizes = table
    more = {f"card2 {placed}": (100,) * 4 for placed in ("apart", "both")}
    links = links | {"cpu0 card2": (9, 1), "card2 card2": (9, 1)}
    before = tried(devices, table[1], rows, sizes, metric=metric).choice
    after = tried(devices | {"card2": 10}, links, rows | more, sizes, metric=metric).choice
    assert after == before
