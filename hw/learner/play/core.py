"""The core of a learner's kernel that plays: the learner's core, with a player in it.

While the player has a command, it has memory, the learner, the replay core's jobs and the
iterations, each in its turn. The statements that say so come after the core's own.
"""

from amaranth import *
from amaranth.lib import data
from amaranth.lib.wiring import In

from hw.learner.core import LearnerCore
from hw.learner.play.commands import COMMANDS, PLAYING
from hw.learner.play.initialiser import Initialiser
from hw.learner.play.play_contract import PLAY_STATUS
from hw.learner.play.player import Player
from hw.shell.ports import mux_ports

__all__ = ["PlayingCore"]


class PlayingCore(LearnerCore):
    """As LearnerCore, with the commands of ``hw.learner.play.commands``.

    Members
    -------
    Those of ``LearnerCore``, and
    stop : In(1)
        PLAY ends before its next vector step.
    """

    COMMANDS = COMMANDS
    STATUS = PLAY_STATUS

    @property
    def table(self):
        return PLAYING

    def own_members(self):
        return {"stop": In(1)}

    @staticmethod
    def state_layout(config):
        members = LearnerCore.state_layout(config).members
        return data.StructLayout({**members, "programmed": 1, "begun": 1})

    def extend(self, m, run, learner):
        m.submodules.player = player = Player(self.config)
        m.submodules.initialiser = initialiser = Initialiser(self.config)
        chosen, iteration = run.selected, self.iteration
        m.d.comb += [
            player.play.eq(run.start & chosen.play),
            player.program.eq(run.start & chosen.program),
            player.save.eq(run.start & chosen.save),
            player.resume.eq(run.start & chosen.resume),
            player.replied.eq(run.replied),
            player.raw.eq(run.raw),
            player.failed.eq(run.failed),
            player.stop.eq(self.stop),
            player.operands.eq(self.operands),
            player.results.eq(self.results),
            player.capacity.eq(run.state.capacity),
            player.words.payload.eq(run.words.p.data),
            player.ended.eq(iteration.done),
            player.lesson_error.eq(iteration.error),
            player.lesson_detail.eq(iteration.detail),
            player.iterations.eq(iteration.iterations),
            player.loaded.eq(learner.control.loaded),
            player.outcome.payload.eq(self.replay.job_outcome.payload),
            player.outputs.payload.eq(learner.actions.payload),
            run.state.programmed.eq(player.programmed),
            run.state.begun.eq(player.begun),
        ]
        with m.If(player.save):
            m.d.comb += run.reply.eq(1)
        # Through registers, since the comparisons are wide, and nobody sees a clock.
        met, bar = player.met & player.begun, Mux(player.begun, player.bar, 0)
        self.show(m, "sync", met=met, bar=bar)
        self._initialise(m, run, learner, initialiser)
        with m.If(player.playing):
            self._acts(m, player, learner)
            self._learns(m, player)
            self._stores(m, player)
            self._memory_of(m, run, player)
        return {
            "step": player.step,
            "episodes": player.episodes,
            "explore": player.explore,
            "ready": Cat(player.programmed, player.begun),
            "play_state": player.state,
            "clipped": player.clipped,
            "returns": player.total,
        }

    def _initialise(self, m, run, learner, initialiser):
        """INIT, which has memory and the learner while it runs."""
        m.d.comb += [
            initialiser.start.eq(run.start & run.selected.init),
            initialiser.address.eq(self.operands + self.field("source", run.raw)),
            initialiser.busy.eq(learner.control.busy),
        ]
        with m.If(initialiser.running):
            m.d.comb += [
                learner.load.eq(initialiser.load),
                learner.sets.eq(initialiser.sets),
                learner.image_i.payload.eq(initialiser.image.payload),
                learner.image_i.valid.eq(initialiser.image.valid),
                initialiser.image.ready.eq(learner.image_i.ready),
                run.finish.eq(initialiser.done),
            ]
            mux_ports(m, self.host_read, [(C(1), initialiser.read)])
        with m.If(initialiser.start):
            m.d.sync += self.missing.eq(~0)
        with m.If(initialiser.done):
            # Also the set whose LOAD has succeeded, if memory failed later.
            m.d.sync += self.missing.eq(run.failed.replicate(len(self.missing)))

    def _acts(self, m, player, learner):
        """The learner, for an ACT."""
        m.d.comb += [
            learner.acting.eq(player.acting),
            learner.act.eq(player.act),
            learner.image_i.valid.eq(0),
            learner.image_o.ready.eq(0),
            learner.actions.ready.eq(player.outputs.ready),
            player.outputs.valid.eq(learner.actions.valid),
        ]
        with m.If(player.network_begin):
            m.d.comb += learner.control.begin.eq(1)
        with m.If(player.acting):
            m.d.comb += [
                learner.batch.eq(self.config.play.environments),
                learner.records.payload.eq(player.observations.payload),
                learner.records.valid.eq(player.observations.valid),
                player.observations.ready.eq(learner.records.ready),
            ]

    def _learns(self, m, player):
        """The iterations, whose LEARN is the player's."""
        iteration = self.iteration
        m.d.comb += [
            iteration.raw.eq(player.lesson),
            iteration.start.eq(player.start),
            iteration.trains.eq(0),
            iteration.run.eq(0),
        ]
        mux_ports(m, player.hyperparameters, [(C(1), iteration.read)])
        mux_ports(m, player.reports, [(C(1), iteration.write)])

    def _stores(self, m, player):
        """The replay core, for an INSERT, whose experiences the player has."""
        replay = self.replay
        mux_ports(m, player.experiences, [(C(1), replay.host_read)])
        with m.If(player.inserting):
            m.d.comb += [
                replay.job.payload.eq(player.job.payload),
                replay.job.valid.eq(player.job.valid),
                player.job.ready.eq(replay.job.ready),
                self.iteration.outcome.valid.eq(0),
                player.outcome.valid.eq(replay.job_outcome.valid),
                replay.job_outcome.ready.eq(player.outcome.ready),
            ]

    def _memory_of(self, m, run, player):
        """Memory, and the beats that the dispatcher moves; the end of the command."""
        moving = player.moving
        mux_ports(m, self.host_read, [(moving, run.read), (~moving, player.read)])
        mux_ports(m, self.host_write, [(moving, run.write), (~moving, player.write)])
        m.d.comb += [
            player.words.valid.eq(run.words.valid),
            run.words.ready.eq(player.words.ready),
            run.reply_words.payload.eq(player.reply.payload),
            run.reply_words.valid.eq(player.reply.valid),
            player.reply.ready.eq(run.reply_words.ready),
            # Iterations have an end of their own.
            run.finish.eq(player.done),
            run.error.eq(player.error),
            run.detail.eq(player.detail),
        ]
