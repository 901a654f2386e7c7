"""Clocks of PLAY by formula, with the memory around the kernel.

With E environments, O numbers of an observation, W(n) clocks of a transition that closes a window
of n rewards, W(0) clocks of its words, and a task whose STEP has L instructions, run for S slots, a
vector step takes ::

    2 E + S L + (E - 1) W(n) + W(0) - O + max(W(n) - W(0), reset + 4) + act + insert + 16

``reset`` is the machine's BEGIN where an episode ends, else 0. ``act`` is 0 if all
environments explore, and ``insert`` without LEARN. The iterations of a period follow as in LEARN,
but the first one waits for its settings and its draw. The constants are from two simulated kernels;
tests compare others with the simulation. On a master wider than 128 bits actions are held back in
their beat, and a vector step that acts takes up to 6 % more in a small network.
"""

from functools import cache

from hw.environment.machine import command_clocks
from hw.environment.machine_image import Section, image_of
from hw.environment.machine_ports import Command
from hw.environment.task import trace
from hw.environment.task_program import assemble
from hw.environment.tasks.cartpole import CartPole
from hw.environment.tasks.mountain_car import MountainCar
from hw.learner.iteration_clocks import drawn_clocks, learn_clocks, loaded_clocks
from hw.learner.records import WORDS, observation_granules, record_granules
from hw.learner.step_clocks import acting_clocks, step_clocks
from hw.replay.command_clocks import beats_of, queue_clocks, stored_clocks
from hw.shell.memory_clocks import latencies

__all__ = ["PERIOD_STEPS", "clocks", "lesson_clocks", "period_clocks", "period_parts"]
__all__ += ["vector_step_clocks"]

#: Environment steps of a period that a search times: `rlfabric train dqn` has as many an iteration.
PERIOD_STEPS = 32

#: Clocks of states, and of registers between units.
_STEP, _BEGIN, _ACT, _INSERT, _LESSON = 16, 4, 3, 11, 32
#: Shipped tasks whose actions are choices.
_TASKS = CartPole, MountainCar


def clocks(config):
    """``{operation: clocks}`` of a LearnerKernelConfig that plays: a vector step with windows of
    ``longest`` rewards of each shipped task with the network's sizes."""
    found, play = {}, config.play
    for kind in _tasks(config.learner):
        name = f"vector step of {play.environments} environments of {kind.__name__}"
        found[name] = vector_step_clocks(config, _image(kind), play.longest)
    return found


def _tasks(learner):
    """The shipped tasks with the network's sizes."""
    sizes = learner.observation, learner.action
    return [kind for kind in _TASKS if (len(kind.observation), kind.actions) == sizes]


@cache
def _image(kind):
    task = kind()
    return image_of(assemble(trace(task)), task.limit)


def period_clocks(config, batch):
    """Clocks of a period of PLAY, the sum of ``period_parts``."""
    return sum(period_parts(config, batch).values())


def period_parts(config, batch):
    """``{part: clocks}`` of a period of PLAY: vector steps, ``PERIOD_STEPS`` of all environments
    or at least one of each, and an iteration with ``batch`` samples. All environments act and
    close windows of ``longest`` rewards, and no episode ends. The task is a shipped one with the
    network's sizes; a network of other sizes is timed with CartPole's instructions."""
    play, kind = config.play, next(iter(_tasks(config.learner)), CartPole)
    steps = max(1, PERIOD_STEPS // play.environments)
    vector_step = vector_step_clocks(config, _image(kind), play.longest)
    return {"play": steps * vector_step, "learn": lesson_clocks(config, batch, 1)}


def vector_step_clocks(config, image, n, *, acts=True, stores=True, ended=False):
    """Clocks of a vector step of PLAY; each environment closes a window.

    Parameters
    ----------
    config : LearnerKernelConfig
    image : Image
        Of the task.
    n : int
        Rewards of a window.
    acts : bool
        Whether an environment takes its greedy action.
    stores : bool
        Whether experiences are stored (LEARN).
    ended : bool
        Whether an episode ends. The windows that its end closes are not counted: they are those
        that its first n - 1 steps have not closed.
    """
    learner, count, machine = config.learner, config.play.environments, config.play.machine
    windows = config.play.windows(learner)
    words, transition = windows.transition_clocks([]), windows.transition_clocks([n])
    # The last window closes while environments begin anew.
    last = transition - words
    if ended:
        last = max(last, command_clocks(machine, image)[Command.BEGIN] + _BEGIN)
    # The observation of the first environment has been read before its step ends.
    found = _STEP + 2 * count + machine.slots * image.length(Section.STEP)
    found += (count - 1) * transition + words - learner.observation + last
    if acts:
        seen = count * WORDS * observation_granules(learner)
        # Actions leave while the network computes the next ones.
        found += seen + loaded_clocks(config) + acting_clocks(learner, count) - count + _ACT
    if stores:
        granules = record_granules(learner)
        stored = stored_clocks(config, count, granules)
        # They come a granule a clock, however wide a beat is.
        stored += count * (granules - beats_of(config, granules))
        found += stored + latencies(config.engine)["write"] + _INSERT
    return found


def lesson_clocks(config, batch, iterations):
    """Clocks of the ``iterations``, at least one, that follow a period of PLAY."""
    read, write = latencies(config.engine).values()
    begin = read + queue_clocks(config) + drawn_clocks(config, batch)
    end = step_clocks(config.learner, batch).whole + write + _LESSON
    return begin + (iterations - 1) * (learn_clocks(config, batch) + 1) + end
