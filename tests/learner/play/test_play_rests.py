"""Units say that they rest only when nothing is left to leave them: a command ends then."""

from learner.play.play_programs import SMALL
from stream.resetting import driven

from hw.learner.play.experience_queue import ExperienceQueue
from hw.learner.play.rings import EpisodeRing
from hw.learner.records import record_words


def test_a_record_that_waits_for_memory():
    """Before its write is asked for, and until it is answered."""
    ring = EpisodeRing(128)

    async def bench(ctx, _):
        assert ctx.get(ring.idle)
        ctx.set(ring.i.valid, 1)
        for _ in range(3):
            assert not ctx.get(ring.idle)
            await ctx.tick()
        ctx.set(ring.write.request.ready, 1)
        ctx.set(ring.write.data.ready, 1)
        assert ctx.get(ring.i.ready)
        await ctx.tick()
        ctx.set(ring.i.valid, 0)
        assert not ctx.get(ring.idle)
        ctx.set(ring.write.done.valid, 1)
        await ctx.tick()
        assert ctx.get(ring.idle)

    driven(ring, bench)


def test_the_last_beat_of_experiences():
    """Nobody takes it for some clocks: the queue is not empty until it has left."""
    queue = ExperienceQueue(SMALL)
    words = sum(count for _, count in record_words(SMALL.learner).values())

    async def bench(ctx, _):
        ctx.set(queue.keep, 1)
        ctx.set(queue.i.valid, 1)
        for number in range(words):
            ctx.set(queue.i.p.last, number == words - 1)
            await ctx.tick().until(queue.i.ready)
        ctx.set(queue.i.valid, 0)
        await ctx.tick().until(queue.settled)
        assert ctx.get(queue.count) == 1 and not ctx.get(queue.empty)
        ctx.set(queue.taking, 1)
        beats = 8 * 16 * queue.granules // SMALL.engine.data_width
        for number in range(beats):
            for _ in range(4):
                await ctx.tick()
            assert ctx.get(queue.o.valid) and not ctx.get(queue.empty), number
            ctx.set(queue.o.ready, 1)
            await ctx.tick()
            ctx.set(queue.o.ready, 0)
        assert ctx.get(queue.empty)

    driven(queue, bench)
