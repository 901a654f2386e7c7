"""A kernel that plays: its Verilog on card ``sim`` against the twin, byte for byte."""

import threading
from dataclasses import replace

import numpy as np
import pytest
from faults import EVERYWHERE, Course, failed
from learner.core_programs import run_both, without_clocks
from learner.play.play_programs import SMALL, WIDE, PlayProgram, Plays, bad_images, image
from learner.play.played import Begins, Ends, EndsAtOnce, Runaway, playing, segments_of
from replay.kernels import opened
from replay.programs import BLANK, Rig

from host.kernels.register_map import document
from hw.arith.arithmetic import Arithmetic
from hw.designs import DESIGNS
from hw.learner.config import LearnerKernelConfig
from hw.learner.play.config import PlayConfig
from hw.learner.play.play_contract import PLAY_SETTINGS, PLAY_STATUS, Flag, PlayError, saved_words
from hw.shell.errors import ShellError
from hw.shell.status_block import STATUS
from sim.card.memory import Fault, MemoryConfig

STORAGE_BYTES = 1 << 14
LEARN, FRESH = Flag.LEARN, Flag.FRESH
#: The errors that bad programs and good ones meet.
ERRORS = {ShellError.NONE, ShellError.FIELD, PlayError.SETTINGS, PlayError.TASK, PlayError.BEGUN}
ERRORS |= {PlayError.SAVED}


def both(memory, config=SMALL):
    return opened("sim", config, memory=memory), opened("model", config)


def first(config, source, **options):
    program = PlayProgram(config)
    program.begin(source, **options)
    return program


_RANDOM = [(SMALL, 0.0, 121), (SMALL, 0.3, 30)]
_RANDOM += [pytest.param(*case, marks=pytest.mark.long)
            for case in ((SMALL, 0.2, 500), (WIDE, 0.1, 150))]  # fmt: skip


@pytest.mark.parametrize(("config", "stall", "count"), _RANDOM)
def test_random_programs(config, stall, count):
    """PLAY with all flags and settings, tasks, parameters, words that were saved; and each kind of
    bad one."""
    memory = MemoryConfig(stall=stall, seed=3, max_idle=20_000, read_latency=9)
    kernel, twin = both(memory, config)
    met, played = set(), 0
    with kernel as kernel, twin as twin:
        rigs = [Rig(kernel, STORAGE_BYTES), Rig(twin, STORAGE_BYTES)]
        source = Plays(config, count)
        begun = first(config, source)
        run_both(*rigs, begun.launch(), begun.reports, "begin")
        saved, ready = None, 1
        for number in range(count):
            program = PlayProgram(config)
            kind = source.command(program, saved, ready)
            place = program.save() if kind == "save" else None
            program.store(source.image(15), 15)
            launch = program.launch()
            shell, *_ = run_both(*rigs, launch, program.reports, f"program {number} ({kind})")
            met.add(int(shell["error"]))
            if place is not None and not shell["error"]:
                size = 4 * sum(saved_words(config).values())
                saved = rigs[1].buffers["results"].view[place : place + size].copy()
            status = rigs[1].buffers["status"].view[STATUS.size :]
            played = max(played, int(status.view("<u4")[88 // 4]))
            ready = int(status.view("<u4")[100 // 4])
        iterations = int(status.view("<u8")[80 // 8])
    assert met >= ERRORS if count > 100 else met
    assert played and iterations > count / 10


@pytest.mark.parametrize("task", [Runaway, Begins, EndsAtOnce])
def test_environments_that_clip(task):
    """A state that leaves its format ends PLAY, with the first such environment; all that stands
    is the twin's."""
    kernel, twin = both(MemoryConfig(max_idle=20_000, read_latency=9))
    settings, met = dict(period=2, phase=0, iterations=1, starts=3, n=2, goal=1 << 60), set()
    with kernel as kernel, twin as twin:
        rigs = [Rig(kernel, STORAGE_BYTES), Rig(twin, STORAGE_BYTES)]
        source = Plays(SMALL, 4)
        begun = first(SMALL, source)
        run_both(*rigs, begun.launch(), begun.reports, "begin")
        for seed in range(6):
            program = PlayProgram(SMALL)
            program.task(task, seed=seed)
            source.play(program, LEARN | FRESH, settings, count=12, batch=3, episodes=4, reports=4)
            shell, *_ = run_both(*rigs, program.launch(), program.reports, f"seed {seed}")
            met.add((int(shell["error"]), int(shell["error_detail"])))
            program = PlayProgram(SMALL)  # the error has ended the launch
            place = program.save()
            source.play(program, LEARN, settings | dict(step=50), count=2, batch=3)
            run_both(*rigs, program.launch(), program.reports, f"seed {seed}, later")
            size = 4 * sum(saved_words(SMALL).values())
            words = rigs[1].buffers["results"].view[place : place + size].view("<u4").copy()
            program = PlayProgram(SMALL)
            program.resume(words)  # which forgets who has clipped
            run_both(*rigs, program.launch(), program.reports, f"seed {seed}, resumed")
    assert len({place for error, place in met if error == PlayError.ENVIRONMENT}) > 1


@pytest.mark.parametrize(
    ("count", "parts"), [(9, 7), pytest.param(100, 10, marks=pytest.mark.long)]
)
def test_many_launches_equal_one(count, parts):
    """All vector steps in one launch, and in launches of ``count``: rings, words of SAVE,
    parameters, storage and status are the same, and are the twin's; also where other environments
    play before a launch, which goes on with the words that were saved."""
    kernel, twin = both(MemoryConfig(max_idle=20_000, read_latency=9))
    settings = dict(period=3, iterations=2, n=4, discount=int(0.97 * 2**31), scale=1 << 30)
    settings |= dict(explore=1 << 31, decrement=1 << 23, end=1 << 28, target_interval=5, window=2)
    settings |= dict(goal=1 << 60, starts=6)
    source = Plays(SMALL, 5)
    numbers, segments = source.numbers(15), source.segments([0])
    fields = dict(stratum_width=1 << 48, batch=8, alpha=19661, epsilon=7)
    beat, reports = SMALL.engine.beat_bytes, range(8 * 16, 8 * 16 + 4 * 64, 64)
    size = 4 * sum(saved_words(SMALL).values())

    def played(rig, counts, others=False):
        rig.run(first(SMALL, source, numbers=numbers).launch())
        rings, step, saved = np.full((reports.stop // beat, beat), BLANK, np.uint8), 0, None
        for number in counts:
            program = PlayProgram(SMALL)
            program.results_bytes = rings.size
            if others and step:
                other = settings | dict(n=2, window=0, explore=1 << 31)
                program.play(7, FRESH, other, segments, episodes=0, reports=0, **fields)
                program.resume(saved)
            explore = max(settings["explore"] - step * settings["decrement"], settings["end"])
            own = settings | dict(step=step, explore=explore, phase=step % 3)
            own |= dict(target_phase=max(0, step // 3 - 1) * 2 % 5)
            flags = LEARN | (0 if step else FRESH)
            program.play(number, flags, own, segments, destination=0, reports=4, **fields)
            step += number
            place = program.save()
            program.store(source.image(15), 15)
            outputs = rig.run(program.launch())
            assert not outputs["status"][: STATUS.size].view(STATUS.dtype)["error"]
            saved = outputs["results"][place : place + size]
            written = outputs["results"][: rings.size].reshape(rings.shape)
            rings = np.where((written != BLANK).any(1, keepdims=True), written, rings)
        found = without_clocks(dict(outputs, results=rings.reshape(-1)), reports)
        found |= dict(saved=saved, image=outputs["results"][place + size :])
        found["status"] = found["status"][STATUS.size :]
        return found

    with kernel as kernel, twin as twin:
        rigs = [Rig(kernel, STORAGE_BYTES), Rig(twin, STORAGE_BYTES)]
        whole, cut = played(rigs[1], [count * parts]), [count] * parts
        assert len(set(whole["saved"])) > 50
        for outputs in (
            played(rigs[0], [count * parts]),
            played(rigs[0], cut),
            played(rigs[0], cut, others=True),
            played(rigs[1], cut, others=True),
        ):
            for name, data in whole.items():
                if name != "status":
                    assert (outputs[name] == data).all(), name
            # Draws go on from launch to launch: all but the iterations since reset are equal.
            different = np.flatnonzero(outputs["status"] != whole["status"])
            assert set(different) <= set(range(80, 88)), different


def test_a_learn_is_what_it_was():
    """LEARN, TRAIN, ACT and INSERT of a kernel that plays, after a PLAY, against the twin of a
    kernel that does not, which has no PLAY."""
    plain = LearnerKernelConfig(replay=SMALL.replay, engine=SMALL.engine, learner=SMALL.learner)
    source = Plays(SMALL, 8)
    with opened("sim", SMALL, memory=MemoryConfig(max_idle=20_000)) as kernel:
        with opened("model", plain) as twin:
            rigs = [Rig(kernel, STORAGE_BYTES), Rig(twin, STORAGE_BYTES)]
            program = first(SMALL, source)
            source.play(program, LEARN | FRESH, dict(iterations=1, starts=0), count=9)
            rigs[0].run(program.launch())
            launches = [source.first()] + [source.program(3, None) for _ in range(8)]
            learned = []
            for number, (launch, reports) in enumerate(launches):
                got, expected = (without_clocks(rig.run(launch), reports) for rig in rigs)
                # Counts since reset, and the hash in the shell's block.
                for outputs in (got, expected):
                    block = outputs["status"]
                    learned.append(block[STATUS.size + 80 :][:8].view("<u8")[0])
                    block[: STATUS.size] = 0
                    block[STATUS.size + 80 : STATUS.size + 192] = 0
                    for place in reports:
                        outputs["results"][place + 16 : place + 28] = 0
                for name, data in expected.items():
                    assert (got[name] == data).all(), (number, name)
    assert learned[-1] > 3


def test_the_stop_bit():
    """It ends a PLAY before its first vector step, or between two; what was played is the twin's
    that played as many."""
    kernel, twin = both(MemoryConfig(max_idle=20_000, read_latency=1, write_latency=1))
    source = Plays(SMALL, 5)
    settings = dict(period=4, iterations=1, n=2, goal=1 << 60, explore=1 << 31, end=0, step=0)
    fields = dict(stratum_width=1 << 48, batch=4, episodes=0, reports=0)

    def played(rig, count):
        program = PlayProgram(SMALL)
        Plays(SMALL, 6).play(program, LEARN | FRESH, settings, count=count, **fields)
        outputs = rig.run(program.launch())
        return outputs["status"][STATUS.size :], outputs["storage"]

    with kernel as kernel, twin as twin:
        rigs = [Rig(kernel, STORAGE_BYTES), Rig(twin, STORAGE_BYTES)]
        begun = first(SMALL, source)
        for rig in rigs:
            rig.run(begun.launch())
        kernel.stop(True)
        steps = played(rigs[0], 1000)[0][88:92].view("<u4")[0]
        assert steps == 0
        kernel.stop(False)
        twin.stop(True)
        played(rigs[1], 1)
        twin.stop(False)
        threading.Timer(1.5, kernel.stop).start()
        status, storage = played(rigs[0], 65_000)
        steps = int(status[88:92].view("<u4")[0])
        assert 0 < steps < 65_000
        kernel.stop(False)
        expected = played(rigs[1], steps)
        assert (expected[0] == status).all()
        assert (expected[1] == storage).all()


@pytest.mark.long
@pytest.mark.parametrize("repeats", [(1, 0), (2, 0), (3, 0)])
def test_a_segment_that_is_wrong(repeats):
    """At the end of a lesson, at the begin of the next one and inside it."""
    config = playing(
        hidden=(3,), lanes=1, multipliers=1, update_units=1, optimizer="rmsprop", batch=8,
        arithmetic=Arithmetic(kind="fixed"), clip_norm=True,
    )  # fmt: skip
    kernel, twin = both(MemoryConfig(seed=3), config)
    segments, source = segments_of(config, repeats), Plays(config, 4)
    segments["max_norm"][1, 0] = -1
    settings = dict(period=2, iterations=2, n=2, explore=1 << 31, end=0, goal=1 << 60)
    settings |= dict(discount=1 << 30, scale=1 << 31, target_interval=2, starts=8)
    with kernel as kernel, twin as twin:
        rigs = [Rig(kernel, STORAGE_BYTES), Rig(twin, STORAGE_BYTES)]
        begun, played = first(config, source), PlayProgram(config)
        run_both(*rigs, begun.launch(), begun.reports, "begin")
        options = dict(batch=4, stratum_width=1 << 48, alpha=19661, epsilon=7)
        played.play(12, LEARN | FRESH, settings, segments, **options)
        shell, _, status = run_both(*rigs, played.launch(), played.reports, "play")
        assert (shell["error"], shell["error_detail"]) == (40, 64)
        assert status["iterations"] == repeats[0]
        shown = PlayProgram(config)
        source.store(shown, 15)
        shown.save()
        run_both(*rigs, shown.launch(), shown.reports, "what stands")


def _course(count=6):
    source = Plays(SMALL, 3)
    launches = [first(SMALL, source).launch()]
    program = PlayProgram(SMALL)
    settings = dict(period=3, iterations=2, starts=0, goal=1 << 60, explore=1 << 31, end=0, n=2)
    fields = dict(episodes=4, reports=4, batch=3)
    source.play(program, LEARN | FRESH, settings, count=count, **fields)
    program.save()
    launches.append(program.launch())
    again = PlayProgram(SMALL)
    again.begin(source)
    source.play(again, LEARN | FRESH, settings | dict(phase=0), count=count, **fields)
    launches.append(again.launch())
    reports = again.reports
    rig = lambda kernel: Rig(kernel, STORAGE_BYTES)  # noqa: E731

    def clean(outputs):
        outputs = without_clocks(outputs, reports)
        # Iterations since reset, and where their REPORTs are.
        outputs["status"][STATUS.size + 80 : STATUS.size + 88] = 0
        outputs["results"][:] = 0
        return outputs

    return Course(
        lambda card, **options: opened(card, SMALL, **options),
        rig, launches, max_cycles=200_000, read_latency=3, write_latency=3,
    ), clean  # fmt: skip


@pytest.mark.parametrize("stride", [29, pytest.param(1, marks=pytest.mark.long)])
def test_memory_that_fails(stride):
    """Each answer of a PLAY and a SAVE fails once: the launch ends, with AXI, and all that begins
    anew afterwards is the twin's."""
    course, clean = _course()
    errors = course.sweep(1, 2, stride, clean)
    assert errors == EVERYWHERE, errors


@pytest.mark.parametrize(("kind", "field", "left"), [
    ("init", "loaded", 0), ("task", "ready", 0), ("resume", "ready", 1), ("play", "step", 2),
])  # fmt: skip
def test_a_command_that_fails(kind, field, left):
    """The last word of INIT, PROGRAM and RESUME, and the first experience of PLAY: no set is
    loaded, no task, no environment has begun; the vector step is PLAY's last."""
    source = Plays(SMALL, 3)
    settings = dict(period=3, iterations=0, n=2, goal=1 << 60, explore=1 << 31, end=0, step=0)
    program = PlayProgram(SMALL)
    if kind == "init":
        program.init(source.numbers(1))
    elif kind == "task":
        program.task()
    elif kind == "resume":
        words = np.zeros(sum(saved_words(SMALL).values()), np.uint32)
        words[0] = 2  # n
        program.resume(words)
    else:
        source.play(program, LEARN | FRESH, settings, count=6, episodes=0)
    course = Course(
        lambda card, **options: opened(card, SMALL, **options),
        lambda kernel: Rig(kernel, STORAGE_BYTES),
        [first(SMALL, source).launch(), program.launch()], max_cycles=200_000,
    )  # fmt: skip
    answer = ("storage", "B", 0) if kind == "play" else ("host", "R", -1)
    number = answer[2] % course.answers(1, *answer[:2])
    outputs = course.fail(1, *answer[:2], number)[1]
    failed(outputs, 0, kind)
    status = outputs["status"][STATUS.size :][: PLAY_STATUS.size].view(PLAY_STATUS.dtype)[0]
    assert status[field] == left


def test_n_and_the_capacity():
    """With LEARN, the windows of all environments fit the capacity, or just do not."""
    kernel, twin = both(MemoryConfig(max_idle=20_000, read_latency=1, write_latency=1))
    most = SMALL.play.environments * SMALL.play.longest
    errors = []
    with kernel as kernel, twin as twin:
        rigs = [Rig(kernel, STORAGE_BYTES), Rig(twin, STORAGE_BYTES)]
        for capacity in (most, most - 1):
            program, source = first(SMALL, Plays(SMALL, 4)), Plays(SMALL, 4)
            program.setup(capacity, program.granules, SMALL.replay.one)
            settings = dict(n=SMALL.play.longest, iterations=0)
            source.play(program, LEARN | FRESH, settings, count=6)
            shell, *_ = run_both(*rigs, program.launch(), program.reports, str(capacity))
            errors.append((int(shell["error"]), int(shell["error_detail"])))
    assert errors == [(0, 0), (PlayError.SETTINGS, PLAY_SETTINGS.offsets["n"])]


def test_images_that_are_wrong():
    """Each leaves no task, with the position of its first wrong word; sections that fill a memory
    are right."""
    kernel, twin = both(MemoryConfig(max_idle=20_000, read_latency=1, write_latency=1))
    with kernel as kernel, twin as twin:
        rigs = [Rig(kernel, STORAGE_BYTES), Rig(twin, STORAGE_BYTES)]
        for number, (words, wrong) in enumerate(bad_images()):
            program = PlayProgram(SMALL)
            program.task(words=words)
            shell, *_ = run_both(*rigs, program.launch(), (), str(number))
            assert (shell["error"], shell["error_detail"]) == (PlayError.TASK, wrong)
        program = PlayProgram(SMALL)
        program.task(words=image(STEP=256, RESET=200)[0])
        shell, *_ = run_both(*rigs, program.launch(), (), "long sections")
        assert not shell["error"]


def test_saved_windows():
    """The open windows of the last two environments are fewer than a window's rewards, or as many:
    the first that is wrong is named."""
    kernel, twin = both(MemoryConfig(max_idle=20_000, read_latency=1, write_latency=1))
    sizes, errors = saved_words(SMALL), []
    place = sum(sizes[name] for name in ("saved", "states", "observations", "running"))
    row = sizes["windows"] // SMALL.play.environments
    place += row * (SMALL.play.environments - 2)
    with kernel as kernel, twin as twin:
        rigs = [Rig(kernel, STORAGE_BYTES), Rig(twin, STORAGE_BYTES)]
        program, source = first(SMALL, Plays(SMALL, 4)), Plays(SMALL, 4)
        source.play(program, FRESH, dict(n=3, goal=1 << 60), count=6)
        at = program.save()
        run_both(*rigs, program.launch(), program.reports, "begin")
        words = rigs[1].buffers["results"].view[at:][: 4 * sum(sizes.values())].view("<u4").copy()
        for count in (2, 3):
            words[[place, place + row]] = count
            program = PlayProgram(SMALL)
            program.resume(words)
            shell, *_ = run_both(*rigs, program.launch(), program.reports, str(count))
            errors.append((int(shell["error"]), int(shell["error_detail"])))
    assert errors == [(0, 0), (PlayError.SAVED, place)]


def test_an_episode_whose_answer_is_late():
    """Iterations wait for it: it is no REPORT's, and none are written."""
    stuck = Fault(master="m_axi_host", channel="B", kind="stuck", cycle=0, until=20_000)
    kernel, twin = both(MemoryConfig(faults=(stuck,), max_idle=40_000))
    settings = dict(period=1, phase=0, iterations=100, starts=0, n=1, goal=1 << 60)
    with kernel as kernel, twin as twin:
        rigs = [Rig(kernel, STORAGE_BYTES), Rig(twin, STORAGE_BYTES)]
        source = Plays(SMALL, 4)
        program = first(SMALL, source)
        program.task(Ends)
        fields = dict(count=1, batch=3, episodes=4, reports=0)
        source.play(program, LEARN | FRESH, settings, **fields)
        shell, _, own = run_both(*rigs, program.launch(), (), "late")
        assert not shell["error"] and own["iterations"] == 100


def test_the_register_document_names_stop():
    """Of a kernel that plays, and no other."""
    for config in (SMALL, replace(SMALL, play=PlayConfig())):
        design = DESIGNS["dqn"]
        text = document(
            design.describe(config), design.documents(config), {}, heading="", config=config
        )
        assert ("`STOP`" in text) == bool(config.play)
