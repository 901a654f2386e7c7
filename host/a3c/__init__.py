"""A3C on kernel ``a3c`` (FA3C): agents that act and are trained in rounds. Read ``agent`` (config,
policy, updater), ``round_tasks`` and ``card_network`` (rounds on the card), ``round_collector`` and
``round_learner`` (what a run does). ``host.runs.round_runs`` joins them.
"""
