"""A run whose card collects: a launch is vector steps and gradient steps, with no host between."""

from collections.abc import Mapping
from concurrent.futures import Future

from host.algorithms.config import Clock
from host.algorithms.policy import Policy
from host.cards.kernel import CapacityError
from host.environments.collector import Acts, Collector, Episodes
from host.learner.card_learner import CardLearner
from host.learner.policy_weights import flat
from host.play.play_settings import PlaySettings
from host.play.playing_replay import Played, PlayingReplay

__all__ = ["PlayCollector", "PlayLearner"]


class PlayLearner(CardLearner):
    """Learns on a card that collects for itself. A launch begins in ``play``, which a PlayCollector
    calls; ``begin`` and ``end`` take its results.

    Parameters
    ----------
    policy, clock, buffer, options
        As CardLearner, with a PlayingReplay that has its task.
    settings : PlaySettings
    """

    BUFFER = PlayingReplay
    at_once = True

    def __init__(
        self,
        policy: Policy,
        clock: Clock,
        buffer: PlayingReplay,
        settings: PlaySettings,
        **options: object,
    ) -> None:
        super().__init__(policy, clock, buffer, **options)
        self.settings, self._fresh, self._explore = settings, True, settings.epsilon[0]
        self.met = False  # whether the last launch has met the goal, which it began without
        self._room = settings.MOST  # vector steps whose rings the bank has room for
        self.inline()  # nothing runs beside a launch, and a signal's handler writes the stop bit

    def play(self) -> Played:
        """Runs a launch from the clock's steps on, and counts its steps and updates. A launch whose
        records do not fit the card's bank is cut in half."""
        clock, settings = self.clock, self.settings
        clock.launched = settings.begun(clock.steps)
        count = min(settings.launch_steps(clock.steps), self._room)
        most, goal = settings.iterations(count), settings.goal(self.buffer.reward_fraction)
        # Where it is met from the beginning an evaluation has just looked: one ahead of time at
        # most, from a multiple of the interval to the next.
        aims = goal is not None and (self._fresh or not self._meets(goal))
        try:
            with self.phases("card"):
                played = self._card.call(
                    self.buffer.play,
                    count,
                    settings.settings(clock.steps, clock.updates, self._explore, goal),
                    settings.segments(clock.steps, clock.updates, most),
                    batch_size=self.agent.batch_size,
                    iterations=most,
                    fresh=self._fresh,
                    goal=aims,
                    store=("online",),
                )
        except CapacityError:  # before anything was launched
            if count == 1:
                raise
            self._room = count // 2
            return self.play()
        self._fresh, self._explore = False, int(self.buffer.status["explore"])
        self.met = aims and self._meets(goal)
        clock.steps += played.steps * settings.count
        return played

    def _meets(self, goal):
        """Whether the last episodes on the card have returns of ``goal`` together."""
        status = self.buffer.status
        full = int(status["episodes"]) >= 1 << self.settings.WINDOW
        return full and int(status["returns"]) >= goal

    def begin(self, experience: Played) -> Future[Played]:
        done = Future()
        done.set_result(experience)
        return done

    def learned(self, result: Played) -> dict[str, float | None]:
        weights = {name: flat(layers) for name, layers in result.parameters.items()}
        if not len(result.reports):
            self._take(weights)
            return {}
        return super().learned(
            {"loss": result.reports["loss"], "td": result.reports["td"], "weights": weights}
        )

    def progress(self) -> dict[str, float | None]:
        return super().progress() | {"exploration": self._explore / 2**32}

    def state_dict(self) -> dict[str, object]:
        return super().state_dict() | {"fresh": self._fresh}

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        super().load_state_dict(state)
        self._fresh = bool(state["fresh"])
        # Before the first launch the card has no epsilon yet.
        explore = self.settings.epsilon[0] if self._fresh else state["buffer"]["explore"]
        self._explore = int(explore)


class PlayCollector(Collector):
    """Collects by a PlayLearner: its experience is the results of a launch.

    The environments are on the card, and a checkpoint has them, so that a resumed run goes on with
    the episodes under way.
    """

    def __init__(self, learner: PlayLearner) -> None:
        self.learner = learner

    def collect(self, policy: Acts, clock: Clock) -> tuple[Played, Episodes]:
        """A launch; what acts are the weights on the card, whatever ``policy`` is."""
        played = self.learner.play()
        rows, self.promising = played.episodes, self.learner.met
        return played, list(zip(rows["total"].tolist(), rows["length"].tolist(), strict=True))

    def restart(self, seed: int) -> None:
        """Does nothing: the learner's state has the environments."""

    def stop(self) -> None:
        """Ends the launch under way before its next vector step."""
        self.learner.buffer.stop()

    def close(self) -> None:
        """Does nothing: the learner closes the card."""
