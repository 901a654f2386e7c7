"""host.runs.progress_bar: a bar where one can be drawn, lines where one cannot."""

import io

from rich.console import Console
from rich.progress import Progress

from host.runs.progress_bar import ProgressLines, progress_bar


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


def lines(every_s=5.0):
    """Progress into a text, by a clock that a test moves."""
    console = Console(file=io.StringIO(), width=40)
    clock = Clock()
    return ProgressLines(console, every_s, clock), clock, console.file


def test_a_terminal_has_a_bar_and_a_log_has_lines():
    assert isinstance(progress_bar(Console(force_terminal=True)), Progress)
    assert isinstance(progress_bar(Console(file=io.StringIO())), ProgressLines)
    dumb = Console(force_terminal=True, force_interactive=False)
    assert isinstance(progress_bar(dumb), ProgressLines)
    notebook = Console(file=io.StringIO(), force_jupyter=True, force_interactive=False)
    assert isinstance(progress_bar(notebook), Progress)


def test_a_line_every_few_seconds():
    progress, clock, file = lines()
    with progress:
        task = progress.add_task("CartPole-v1", total=1000, state="")
        for step, now in ((100, 101.0), (200, 103.0), (300, 106.7), (400, 111.6), (500, 111.7)):
            clock.now = now
            progress.update(task, completed=step, state=f"return [{step}]")
    assert file.getvalue().splitlines() == [
        "CartPole-v1: step 100 of at least 1000 (10 %), 0:00:01, return [100]",
        "CartPole-v1: step 300 of at least 1000 (30 %), 0:00:06, return [300]",
        "CartPole-v1: step 500 of at least 1000 (50 %), 0:00:11, return [500]",
    ]


def test_a_line_every_five_seconds_if_not_asked_otherwise():
    console, clock = Console(file=io.StringIO(), width=40), Clock()
    progress = ProgressLines(console, clock=clock)
    task = progress.add_task("X", total=10)
    for step, now in ((1, 100.0), (2, 104.9), (3, 105.0), (4, 109.9)):
        clock.now = now
        progress.update(task, completed=step)
    lines = [line.partition(" of")[0] for line in console.file.getvalue().splitlines()]
    assert lines == ["X: step 1", "X: step 3"]


def test_the_last_line_is_the_last_state():
    progress, clock, file = lines()
    with progress:
        task = progress.add_task("X", total=10)
        progress.update(task, completed=1, state="a")
        progress.update(task, completed=9, state="b")
        clock.now += 3600
    expected = [
        "X: step 1 of at least 10 (10 %), 0:00:00, a",
        "X: step 9 of at least 10 (90 %), 1:00:00, b",
    ]
    assert file.getvalue().splitlines() == expected


def test_a_new_description_is_said_at_once():
    progress, _, file = lines()
    with progress:
        task = progress.add_task("X", total=10)
        progress.update(task, completed=9, state="a")
        progress.update(task, description="final evaluation")
        progress.update(task, completed=10)
    assert [line.split(":")[0] for line in file.getvalue().splitlines()] == [
        "X",
        "final evaluation",
        "final evaluation",
    ]


def test_a_state_is_printed_once():
    """user, polish: "final evaluation: step N of N" stood there two or three times."""
    progress, _, file = lines()
    with progress:
        task = progress.add_task("X", total=10)
        progress.update(task, description="final evaluation", completed=10, state="a")
        progress.update(task, completed=10, state="a")
        progress.update(task, completed=10, state="what the final evaluation found")
    assert file.getvalue().splitlines() == [
        "final evaluation: step 10 of at least 10 (100 %), 0:00:00, a"
    ]


def test_the_last_launch_may_go_beyond_the_end():
    progress, _, file = lines()
    with progress:
        progress.update(progress.add_task("X", total=10), completed=12)
    assert file.getvalue() == "X: step 12 of at least 10 (100 %), 0:00:00, \n"


def test_nothing_happened_nothing_said():
    progress, _, file = lines()
    with progress:
        progress.add_task("X", total=10)
    assert file.getvalue() == ""


def test_an_error_is_not_held_back():
    progress, _, file = lines()
    try:
        with progress:
            task = progress.add_task("X", total=10)
            progress.update(task, completed=1, state="a")
            progress.update(task, completed=2, state="b")
            raise ValueError
    except ValueError:
        pass
    assert file.getvalue().splitlines()[-1].startswith("X: step 2 of at least 10")
