"""replay_jobs: which jobs an iteration of LEARN gives, with which fields, and what ends them."""

from hw.learner.control.replay_jobs import ReplayJobs


def test_replay_jobs(simulate):
    simulate(ReplayJobs(), "learner.control.replay_jobs_bench")
