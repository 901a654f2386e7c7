"""A replay memory whose kernel learns and plays: the commands of ``hw.learner.play.commands``."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from host.cards.kernel import Kernel
from host.environments.task_ids import program_of
from host.learner.hyperparameters import check_steps
from host.learner.launch_results import Layer, Sets
from host.learner.learning_replay import LearningReplay
from host.learner.parameters import from_image
from host.programs.launcher import aligned
from host.replay.experience import Fields
from host.values import held
from hw.config import check_range
from hw.environment.machine_image import image_of
from hw.environment.task import Task
from hw.errors import UsageError
from hw.learner.play.commands import PlayOpcode
from hw.learner.play.episodes import EPISODE, LONGEST_EPISODE
from hw.learner.play.play_contract import PLAY_SETTINGS, Flag, saved_words
from hw.learner.records import REPORT

__all__ = ["PlayingReplay", "Played"]

#: Bit of ``ready`` in the status: environments have begun.
_BEGUN = 2


class Played(NamedTuple):
    """The results of ``PlayingReplay.play``.

    ``steps`` is how many vector steps were played. ``episodes`` are EPISODE records of those that
    ended, the oldest first, ``reports`` REPORT records of all iterations, [iterations].
    ``parameters`` is as of Learned.
    """

    steps: int
    episodes: NDArray[np.void]
    reports: NDArray[np.void]
    parameters: Sets | None


class PlayingReplay(LearningReplay):
    """As LearningReplay, with environments on the card, which act, step and store.

    Parameters
    ----------
    kernel : host.cards.Kernel
        A loaded kernel with ``play.environments``; else UsageError.
    fields, options
        As LearningReplay.

    Attributes
    ----------
    step : int
        Vector steps of all ``play`` so far.
    reward_fraction : int
        Fraction bits of the task's rewards.
    """

    def __init__(
        self, kernel: Kernel, fields: Fields | None = None, **options: int | float | bool
    ) -> None:
        if not kernel.description.config.get("play"):
            raise UsageError("kernel must be one that plays (play.environments), not another")
        super().__init__(kernel, fields, **options)
        self._task = None
        self.launcher.kernel.stop(False)

    def initialize(self, parameters: Mapping[str, Sequence[Layer]]) -> None:
        """As LearningReplay, by a command that is sent the weights only."""
        online = {
            name: [{"online": layer} for layer in layers] for name, layers in parameters.items()
        }
        image, _ = self._image(online)
        self.launcher.run([(PlayOpcode.INIT, {})], [(0, image.view(np.uint8))])

    def program(self, task: type[Task] | str, limit: int, seed: object) -> None:
        """Loads a task, an object of whose class is traced. Environments begin anew with the next
        ``play`` that is fresh.

        task : a subclass of Task, or ``MODULE:CLASS``
        limit : steps after which an episode is truncated, 1..65535
        seed : of all random numbers of the environments and of exploration, as NumPy's SFC64 takes
            it

        UsageError if its sizes are not the network's, if its actions are no choices, or for
        another limit.
        """
        made, program = program_of(task)
        learner = self.learner
        for name, wanted, found in (
            ("observation", learner.observation, len(made.observation)),
            ("action", learner.action, made.actions),
        ):
            if found != wanted:
                raise UsageError(f"{name} must be {wanted} as in the kernel, not {found}")
        check_range("limit", limit, 1, LONGEST_EPISODE)
        words = np.array(image_of(program, limit).words, "<u8")
        self.reward_fraction = program.reward_fraction
        state = np.random.SFC64(seed).state["state"]["state"]
        self._task = {
            "count": len(words),
            "shift": program.action_fractions[0],
            "observation": len(made.observation),
            "actions": made.actions,
        }
        self._words = words
        self._load_task(state)

    def _load_task(self, state):
        command = self._task | {"state": state}
        self.launcher.run([(PlayOpcode.PROGRAM, command)], [(0, self._words.view(np.uint8))])

    def play(
        self,
        count: int,
        settings: Mapping[str, int],
        segments: NDArray[np.void],
        *,
        batch_size: int,
        iterations: int,
        fresh: bool = False,
        learn: bool = True,
        greedy: bool = False,
        goal: bool = False,
        store: Sequence[str] = (),
    ) -> Played:
        """``count`` vector steps, in one launch, or fewer after ``stop``.

        Parameters
        ----------
        settings : dict
            Numbers of PLAY_SETTINGS by field.
        segments : records [n] of SEGMENT
        batch_size, store
            As for ``learn``.
        iterations : int
            The most that may run; if more do, ``reports`` has the last ones.
        fresh, learn, greedy, goal : bool
            The flags of PLAY.

        Errors: as of ``learn``, ValueError too for segments that the kernel refuses, and
        CommandError if a number of an environment leaves its format.
        """
        if self._task is None:
            raise UsageError("task must be loaded first (program), not missing")
        if learn:
            check_steps(segments, self.learner)
        play, beat = self.config.play, self.config.engine.beat_bytes
        rings = [_ring(count * play.environments), _ring(iterations)]
        begin = aligned(rings[0] * beat)
        size = begin + rings[1] * REPORT.size
        block = PLAY_SETTINGS.pack([settings[field.name] for field in PLAY_SETTINGS.fields])
        operands = [
            (0, np.frombuffer(block, np.uint8)),
            (PLAY_SETTINGS.size, segments.view(np.uint8)),
        ]
        flags = {Flag.LEARN: learn, Flag.GREEDY: greedy, Flag.FRESH: fresh, Flag.GOAL: goal}
        command = {
            "count": count,
            "stratum_width": self._stratum(batch_size),
            "batch": batch_size,
            **self._power,
            "segments": len(segments),
            "episodes": rings[0],
            "reports": rings[1],
            "flags": sum(flag.value for flag, is_set in flags.items() if is_set),
        }
        before = self.status
        first = 0 if fresh else int(before["episodes"])
        # Who looks at the ring while the kernel plays must not see episodes of an earlier run.
        cleared = begin if fresh else 0
        results, reports, parameters = self._played(command, operands, size, begin, cleared, store)
        after = self.status
        ended = (int(after["episodes"]) - first) % (1 << 32)
        learned = int(after["iterations"]) - int(before["iterations"])
        episodes = np.ascontiguousarray(results[:begin].reshape(-1, beat)[:, : EPISODE.size])
        episodes = episodes.view(EPISODE.dtype)[:, 0]
        found = Played(
            (int(after["step"]) - settings["step"]) % (1 << 32),
            _latest(episodes, first, ended),
            _latest(reports, int(before["iterations"]), learned),
            parameters,
        )
        if learned:
            self._count_saturations(found.reports["saturations"][-1])
            self._count_errors(learned * batch_size)
        return found

    def _played(self, command, operands, size, begin, cleared, store):
        """Bytes of results, the ring of reports, and parameters of the sets ``store``."""
        program, end = [(PlayOpcode.PLAY, command)], aligned(size)
        if store:
            end += self._put_store(program, end, store)
        results = self._run(program, operands, end, cleared)
        reports = results[begin:size].view(REPORT.dtype)
        image = results[aligned(size) : end] if store else None
        return results, reports, from_image(self.learner, image, store) if store else None

    def stop(self) -> None:
        """Ends a ``play`` under way, and every later one, before its next vector step."""
        self.launcher.kernel.stop()

    # -- states

    def state_dict(self) -> dict[str, object]:
        """As LearningReplay, with what environments, windows and episodes hold: nothing if they
        have not begun."""
        state, words = super().state_dict(), np.zeros(0, np.uint32)
        if int(self.status["ready"]) & _BEGUN:
            size = 4 * sum(saved_words(self.config).values())
            words = self.launcher.run([(PlayOpcode.SAVE, {})], (), size).view(np.uint32)
        return state | {"play": words.copy(), "explore": int(self.status["explore"])}

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        """Loads a ``state_dict``; ``program`` must have loaded its task before. The next ``play``
        goes on to the bit; it must be fresh if the state is of before the first one. UsageError if
        the state is of another memory, learner or kernel."""
        words = held("play", state["play"], np.uint32)
        count = sum(saved_words(self.config).values())
        if words.shape not in ((count,), (0,)):
            raise UsageError(f"play must be {count} words, not {list(words.shape)}")
        super().load_state_dict(state)
        if words.size:
            self.launcher.run([(PlayOpcode.RESUME, {})], [(0, words.view(np.uint8))])


def _ring(count):
    """The least power of two that is at least ``count``."""
    return 1 << (max(count, 1) - 1).bit_length()


def _latest(ring, first, count):
    """The last records of ``count`` that a ring has taken, the oldest first; the first one was
    number ``first``."""
    kept = min(count, len(ring))
    places = (first + count - kept + np.arange(kept)) % len(ring)
    # As bytes: a copy of records would leave out the padding between fields.
    return ring.view(f"V{ring.dtype.itemsize}")[places].view(ring.dtype)
