"""Collectors whose steps actors take: experiences for a replay memory, rollouts.

Requests carry the weights: an actor acts by the newest ones that there were when it was asked, and
nobody polls for weights. An actor has at most two requests, so that it never waits for the next
one, and nothing else is queued.
"""

from collections import Counter, deque

from host.actors.messages import ActorRequest, Launch, Message
from host.advantages.rollout import Rollout
from host.environments.collector import Collector

__all__ = ["COLUMNS", "ExperienceActors", "RolloutActors"]

#: column of progress.csv -> meaning; columns of all runs with actors
COLUMNS = {
    "staleness": "gradient steps since the weights by which actors acted, mean since the last row",
    "wait_actors_s": "seconds that the run has waited for actors so far",
    "idle_actors": "share of their time that actors had no request, since the last row",
    "steps_per_second_actor": "environment steps of an actor in a second of its work",
    "message_bytes": "mean bytes of an actor's message",
    "actors_alive": "actors that are there",
    "actor_losses": "actors that were lost so far",
}

#: Requests of an actor, the one it works on among them.
_REQUESTS = 2


class _Actors(Collector):
    """Common part: requests and states of actors, and what progress.csv has of them.

    pool : Pool
        The actors.
    phases : Phases
        Its phase ``actors`` counts the time of waiting.
    """

    columns = (*COLUMNS, "seconds_actors")

    def __init__(self, pool, phases):
        self.pool, self.phases = pool, phases
        self._shared, self._weights = None, None
        self._since = Counter()  # sums of what actors did since the last row

    def restart(self, seed):
        """Nothing: new actors have new seeds."""

    def _ask(self, index, policy, clock, launches=1):
        policy = getattr(policy, "policy", policy)
        version = clock.updates // policy.weights_steps * policy.weights_steps
        if self._shared != version or not policy.STEADY:
            self._weights, self._shared = self.pool.share(policy.snapshot), version
        request = ActorRequest(version, clock.steps, launches)
        self.pool.call(index, "collect", request, self._weights)

    def _took(self, clock, version):
        """Counts a launch, for which actors acted by weights of a version."""
        self._since.update(launches=1, stale=clock.updates - version)

    def progress(self):
        pool, (since, self._since) = self.pool, (self._since, Counter())

        def mean(of, each):
            return since[of] / since[each] if since[each] else None

        return {
            "staleness": mean("stale", "launches"),
            "wait_actors_s": round(pool.waited_s, 3),
            "idle_actors": mean("idle", "time"),
            "steps_per_second_actor": mean("steps", "busy"),
            "message_bytes": mean("bytes", "messages"),
            "actors_alive": len(pool.alive),
            "actor_losses": pool.lost,
        }

    def _receive(self):
        """Waits for answers of actors, counts them, and hands them to ``_keep``."""
        for index, answer in self.pool.receive():
            if answer is not None:
                busy, idle = answer.busy_s, answer.idle_s
                self._since.update(messages=1, bytes=answer.bytes, busy=busy, idle=idle)
                self._since.update(time=busy + idle, steps=sum(x.steps for x in answer.launches))
                self._keep(index, answer)

    def state_dict(self):
        """Waits for what actors have been asked, and then for their states; that of an actor which
        is lost meanwhile is None."""
        with self.phases("actors"):
            while self.pool.waits:
                self._receive()
            states = self._states()
        return {"states": states, "generations": self.pool.generations, "lost": self.pool.lost}

    def _states(self):
        states = [None] * len(self.pool)
        waiting = set(self.pool.alive if self.pool.started else ())
        for index in waiting:
            self.pool.call(index, "state")
        while waiting:
            for index, answer in self.pool.receive():
                waiting.discard(index)
                states[index] = answer
        return states

    def load_state_dict(self, state):
        """Continues with new actors, in new episodes; experiences of those that were under way come
        first."""
        self.pool.go_on(state["generations"], int(state["lost"]))
        self.pool.start()
        waiting = {index for index, known in enumerate(state["states"]) if known is not None}
        for index in waiting:
            self.pool.call(index, "load_state", state["states"][index])
        while waiting:
            waiting -= {index for index, _ in self.pool.receive()}

    def close(self):
        self.pool.close()


class ExperienceActors(_Actors):
    """Experiences for a replay memory. A launch of the run takes a part of a message, as many steps
    as it would have without actors, so that the ratio of gradient steps to environment steps is the
    same. ``clock.steps`` counts a step when a launch takes it.

    Parameters
    ----------
    pool, phases
        As the base class.
    launches : int
        Launches of a message.
    fixed : bool
        Whether messages are taken from the actors in turn, not as they come.
    """

    def __init__(self, pool, phases, *, launches, fixed):
        super().__init__(pool, phases)
        self._launches, self._fixed, self._turn = launches, fixed, 0
        self._current, self._version, self._arrived = deque(), 0, deque()
        self._kept = [deque() for _ in range(len(pool))]

    def collect(self, policy, clock):
        """As ``NStepCollector.collect``."""
        with self.phases("actors"):
            if not self._current:
                self._take(policy, clock)
        launch = self._current.popleft()
        clock.steps += launch.steps
        self._took(clock, self._version)
        return launch.experience, launch.episodes

    def _take(self, policy, clock):
        while True:
            self._fill(policy, clock)
            index = self._turn if self._fixed else self._arrived[0] if self._arrived else None
            if index is not None and self._kept[index]:
                break
            self._receive()
        if self._fixed:
            self._turn = (self._turn + 1) % len(self._kept)
        else:
            self._arrived.popleft()
        message = self._kept[index].popleft()
        self._current.extend(message.launches)
        self._version = message.version
        self._fill(policy, clock)

    def _fill(self, policy, clock):
        """Asks each actor until it has its two requests, or messages that are not taken."""
        self.pool.start()
        for many in range(1, _REQUESTS + 1):
            for index in self.pool.alive:
                if self.pool.asked(index) + len(self._kept[index]) < many:
                    self._ask(index, policy, clock, self._launches)

    def _keep(self, index, message):
        self._kept[index].append(message)
        if not self._fixed:
            self._arrived.append(index)

    def state_dict(self):
        state = super().state_dict()
        return state | {
            "current": [dict(vars(launch)) for launch in self._current],
            "version": self._version,
            "kept": [[_message(each) for each in kept] for kept in self._kept],
            "arrived": list(self._arrived),
            "turn": self._turn,
        }

    def load_state_dict(self, state):
        super().load_state_dict(state)
        self._current = deque(Launch(**launch) for launch in state["current"])
        self._version, self._turn = int(state["version"]), int(state["turn"])
        self._arrived = deque(state["arrived"])
        self._kept = [
            deque(
                Message(each["version"], [Launch(**launch) for launch in each["launches"]])
                for each in kept
            )
            for kept in state["kept"]
        ]


class RolloutActors(_Actors):
    """Rollouts of an on-policy agent: all actors act by the weights of now, and their parts are
    joined in the order of the actors. If an actor is missing, the others make its part."""

    def __init__(self, pool, phases):
        super().__init__(pool, phases)
        self._parts = []

    def collect(self, policy, clock):
        """As ``RolloutCollector.collect``."""
        self._parts = []
        with self.phases("actors"):
            while (missing := len(self.pool) - len(self._parts)) > 0:
                self._fill(policy, clock, missing)
                self._receive()
        self._parts.sort(key=lambda part: part[0])
        messages = [message for _, message in self._parts]
        launches = [launch for message in messages for launch in message.launches]
        for message in messages:
            if message.statistics is not None:
                policy.normalizer.join(*message.statistics.values())
            self._took(clock, message.version)
        clock.steps += sum(launch.steps for launch in launches)
        episodes = [episode for launch in launches for episode in launch.episodes]
        return Rollout.joined([launch.experience for launch in launches]), episodes

    def _fill(self, policy, clock, missing):
        """Asks the actors with the fewest requests for ``missing`` parts in all."""
        pool, made = self.pool, Counter(index for index, _ in self._parts)
        pool.start()
        asked = sum(map(pool.asked, pool.alive))
        for _ in range(missing - asked if pool.alive else 0):
            index = min(pool.alive, key=lambda i: (pool.asked(i) + made[i], i))
            self._ask(index, policy, clock)

    def _keep(self, index, message):
        self._parts.append((index, message))


def _message(message):
    """A Message as ``checkpoint.save`` takes it, without what is counted when it comes."""
    launches = [dict(vars(launch)) for launch in message.launches]
    return {"version": message.version, "launches": launches}
