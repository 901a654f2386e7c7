"""Runs inside the simulator: the jobs of LEARN; the bench is the replay core and the iteration."""

import random

import cocotb
from cocotb.triggers import ReadOnly, RisingEdge
from driving import clocks, pulse, seen, start
from programs import bits_of

from hw.learner.commands import LEARNING, LearnOpcode
from hw.learner.control.replay_jobs import ReplayJobs
from hw.replay.commands import Opcode
from hw.replay.job_dispatcher import JOB
from hw.shell.program import OUTCOME


class Bench:
    """``fields``: of the LEARN under way; ``run``: bytes that an iteration stores; ``places``: of
    what the next iteration stores."""

    def __init__(self, dut, seed):
        self.dut, self.rng = dut, random.Random(seed)

    async def begin(self):
        await start(self.dut, ReplayJobs())

    async def learn(self, inserts):
        rng, dut = self.rng, self.dut
        self.fields = dict(
            batch=rng.randint(1, 4096),
            stratum_width=rng.choice([1 << 48, rng.getrandbits(48)]),
            alpha=rng.getrandbits(16),
            epsilon=rng.getrandbits(16),
            inserts=inserts,
            experiences=64 * rng.getrandbits(20),
            given=rng.randrange(3),
            priorities=64 * rng.getrandbits(20),
        )
        self.run = inserts * 16 * rng.randint(1, 9)
        self.places = {name: self.fields[name] for name in ("experiences", "priorities")}
        dut.raw.value = bits_of(LEARNING, LearnOpcode.LEARN, count=9, **self.fields)
        dut.run.value = self.run
        await pulse(dut, "start")

    async def job(self, opcode, last, error=0, **fields):
        """The job that comes now, steady until its outcome; ``last``: with it, all is done."""
        dut, detail = self.dut, self.rng.getrandbits(32)
        for wait in reversed(range(self.rng.choice([1, 2, 9]))):
            answers = not wait
            dut.outcome__valid.value = dut.job__ready.value = int(answers)
            dut.outcome__payload.value = (
                OUTCOME.const(dict(error=error, detail=detail)).as_value().value
            )
            await ReadOnly()
            assert int(dut.job__valid.value) and int(dut.outcome__ready.value), opcode
            job = JOB.from_bits(int(dut.job__payload.value))
            assert job.opcode == opcode
            for name, value in fields.items():
                assert int(getattr(job, name)) == value, f"{opcode}: {name}"
            assert int(dut.done.value) == (answers and last), opcode
            if answers and last:
                assert (int(dut.error.value), int(dut.detail.value)) == (error, detail)
            await RisingEdge(dut.clk)
        dut.outcome__valid.value = dut.job__ready.value = 0

    async def none(self):
        for _ in range(self.rng.choice([1, 5])):
            assert not await seen(self.dut, "job__valid"), "a job more"

    async def draw(self, error=0):
        """All bits of ``beta`` go to SAMPLE."""
        own, beta = self.fields, self.rng.getrandbits(32)
        self.dut.beta.value = beta
        await pulse(self.dut, "draw")
        fields = dict(count=own["batch"], stratum_width=own["stratum_width"], beta=beta)
        await self.job(Opcode.SAMPLE, True, error, **fields)
        await self.none()

    async def give(self, errors=(0, 0)):
        own, places = self.fields, self.places
        weighing = {name: own[name] for name in ("alpha", "epsilon")}
        inserts = own["inserts"] if not errors[0] else 0
        await pulse(self.dut, "give")
        count = own["batch"]
        await self.job(Opcode.UPDATE, not inserts, errors[0], count=count, **weighing)
        if inserts:
            fields = dict(source=places["experiences"], priorities=places["priorities"])
            fields |= dict(count=inserts, given=own["given"], transfer=self.run // 16)
            await self.job(Opcode.INSERT, True, errors[1], **fields, **weighing)
            places["experiences"] += -(-self.run // 64) * 64
            places["priorities"] += -(-inserts * 8 // 64) * 64
        await self.none()


@cocotb.test(timeout_time=10, timeout_unit="ms")
@cocotb.parametrize(inserts=[0, 1, 7, 8, 9, 65535])
async def iterations(dut, inserts):
    """What is stored follows each other, on 64 bytes; an error ends what was asked for."""
    bench = Bench(dut, inserts)
    await bench.begin()
    for _ in range(2):
        await bench.learn(inserts)
        await bench.none()
        for _ in range(4):
            await bench.draw()
            await clocks(dut, bench.rng.choice([0, 3]))
            await bench.give()
        await bench.draw(error=17)
        await bench.give(errors=(4, 0))
        await bench.give(errors=(0, 20))
