"""Plans of stable-baselines3's runs for comparison; ``bench.learning.library`` executes them."""

from dataclasses import dataclass, field

from hw.errors import UsageError

__all__ = ["PEERS", "PeerPlan"]


@dataclass(frozen=True, kw_only=True)
class PeerPlan:
    """A training by stable-baselines3, or by RLtools (``bench.solve``).

    Parameters
    ----------
    algorithm : str
        Name of the algorithm's class, or of RLtools' function.
    steps, env_count : int
        Environment steps of all environments together; environments.
    arguments : dict
        Its arguments, JSON values. A ``learning_rate`` that is a list ``[first, last,
        share]`` falls from the first to the last in this share of all steps.
    noise : list, optional
        Noise of actions: ``normal`` or ``ornstein-uhlenbeck``, and the deviation.
    """

    algorithm: str
    steps: int
    env_count: int = 1
    arguments: dict = field(default_factory=dict)
    noise: list | None = None


#: rl-baselines3-zoo's hyperparameters, of its commit 22e3ff2 (April 2026)
_MOST_DQN = dict(
    learning_rate=6.3e-4,
    batch_size=128,
    buffer_size=50_000,
    learning_starts=0,
    gamma=0.99,
    target_update_interval=250,
    train_freq=4,
    gradient_steps=-1,
    exploration_fraction=0.12,
    exploration_final_eps=0.1,
    policy_kwargs=dict(net_arch=[256, 256]),
)
_LARGE = dict(
    learning_rate=1e-3, train_freq=1, gradient_steps=1, policy_kwargs=dict(net_arch=[400, 300])
)
_PENDULUM = dict(
    steps=20_000,
    arguments=dict(gamma=0.98, buffer_size=200_000, learning_starts=10_000, **_LARGE),
    noise=["normal", 0.1],
)
#: 300 000 steps in the zoo; here as many as in rlfabric's run
_MOUNTAIN_CAR = dict(
    steps=20_000,
    arguments=dict(batch_size=256, **_LARGE),
    noise=["ornstein-uhlenbeck", 0.5],
)
_ZOO = {
    ("dqn", "CartPole-v1"): dict(
        steps=50_000,
        arguments=dict(
            learning_rate=2.3e-3,
            batch_size=64,
            buffer_size=100_000,
            learning_starts=1000,
            gamma=0.99,
            target_update_interval=10,
            train_freq=256,
            gradient_steps=128,
            exploration_fraction=0.16,
            exploration_final_eps=0.04,
            policy_kwargs=dict(net_arch=[256, 256]),
        ),
    ),
    ("dqn", "Acrobot-v1"): dict(steps=100_000, arguments=_MOST_DQN),
    ("dqn", "LunarLander-v3"): dict(steps=100_000, arguments=_MOST_DQN),
    ("ddpg", "Pendulum-v1"): _PENDULUM,
    ("ddpg", "MountainCarContinuous-v0"): _MOUNTAIN_CAR,
    ("td3", "Pendulum-v1"): _PENDULUM,
    ("td3", "MountainCarContinuous-v0"): _MOUNTAIN_CAR,
    ("sac", "Pendulum-v1"): dict(steps=20_000, arguments=dict(learning_rate=1e-3)),
    ("sac", "MountainCarContinuous-v0"): dict(
        steps=50_000,
        arguments=dict(
            learning_rate=3e-4,
            buffer_size=50_000,
            batch_size=512,
            ent_coef=0.1,
            train_freq=32,
            gradient_steps=32,
            gamma=0.9999,
            tau=0.01,
            learning_starts=0,
            use_sde=True,
            policy_kwargs=dict(log_std_init=-3.67, net_arch=[64, 64]),
        ),
    ),
    ("ppo", "CartPole-v1"): dict(
        steps=100_000,
        env_count=8,
        arguments=dict(
            n_steps=32,
            batch_size=256,
            gae_lambda=0.8,
            gamma=0.98,
            n_epochs=20,
            ent_coef=0.0,
            learning_rate=[1e-3, 0.0, 1.0],
            clip_range=[0.2, 0.0, 1.0],
        ),
    ),
    ("ppo", "Pendulum-v1"): dict(
        steps=100_000,
        env_count=4,
        arguments=dict(
            n_steps=1024,
            gae_lambda=0.95,
            gamma=0.9,
            n_epochs=10,
            ent_coef=0.0,
            learning_rate=1e-3,
            clip_range=0.2,
            use_sde=True,
            sde_sample_freq=4,
        ),
    ),
}


def zoo(config):
    """The ``PeerPlan`` with rl-baselines3-zoo's hyperparameters for the algorithm and the
    environment of the run's ``config``; ValueError if it has none for them."""
    known = _ZOO.get((config.algo, config.env))
    if known is None:
        raise UsageError(
            f"peer must be zoo for {', '.join(f'{algo} on {env}' for algo, env in _ZOO)}, not for "
            f"{config.algo} on {config.env}"
        )
    return PeerPlan(algorithm=config.algo.upper(), **known)


def _rate(agent, steps):
    """A learning rate, or ``[first, last, share of the run]`` of one that falls."""
    rate, final = agent.learning_rate, agent.learning_rate_final
    return rate if final is None else [rate, final, agent.learning_rate_steps / steps]


def ppo(config):
    """The ``PeerPlan`` of stable-baselines3's PPO with the hyperparameters of the run's
    ``config``."""
    config = config.in_run()
    agent = config.agent
    return PeerPlan(
        algorithm="PPO",
        steps=config.steps,
        env_count=config.env_count,
        arguments=dict(
            learning_rate=_rate(agent, config.steps),
            n_steps=config.steps_per_launch,
            batch_size=agent.batch_size,
            n_epochs=agent.epochs,
            gamma=agent.gamma,
            gae_lambda=agent.gae_lambda,
            clip_range=agent.clip,
            ent_coef=agent.entropy_coefficient,
            vf_coef=agent.value_coefficient,
            max_grad_norm=agent.max_gradient_norm,
            policy_kwargs=dict(log_std_init=agent.log_deviation),
        ),
    )


#: fields of stable-baselines3's DQN that cannot be changed by an argument
_DQN = dict(
    algo="dqn",
    activation="relu",
    dueling=False,
    optimizer="adam",
    loss="huber",
    huber_delta=1.0,
    convolutions=None,
    reward_clip=None,
    reward_scale=1.0,
)


def _check_fixed(config, fixed):
    """UsageError unless the run and its agent have the values ``fixed``, ``{field: value}``."""
    for name, wanted in fixed.items():
        value = getattr(config if hasattr(config, name) else config.agent, name)
        if value != wanted:
            raise UsageError(f"{name} must be {wanted!r} for peer {fixed['algo']}, not {value!r}")


def _replay_arguments(config):
    """Arguments that stable-baselines3's DQN and DDPG have in common."""
    agent = config.agent
    return dict(
        learning_rate=_rate(agent, config.steps),
        buffer_size=config.capacity,
        learning_starts=config.learning_starts,
        batch_size=agent.batch_size,
        gamma=agent.gamma,
        n_steps=agent.n_step,
        train_freq=config.steps_per_launch,
        tau=agent.target_tau,
        policy_kwargs=dict(net_arch=list(agent.hidden)),
    )


def dqn(config):
    """The ``PeerPlan`` of stable-baselines3's DQN with the hyperparameters of the run's ``config``.

    That DQN draws uniformly and is not double, so ``alpha``, ``beta`` and ``double`` are left out.
    ValueError for another value that it cannot have, such as another loss.
    """
    config = config.in_run()
    agent = config.agent
    _check_fixed(config, _DQN)
    between, rest = divmod(
        agent.target_interval * config.steps_per_launch, config.updates_per_launch
    )
    if rest or not between:
        raise UsageError(
            f"target_interval must be a multiple of {config.updates_per_launch} gradient steps in "
            f"{config.steps_per_launch} environment steps for peer dqn, not {agent.target_interval}"
        )
    return PeerPlan(
        algorithm="DQN",
        steps=config.steps,
        env_count=config.env_count,
        arguments=dict(
            **_replay_arguments(config),
            gradient_steps=config.updates_per_launch,
            target_update_interval=between * config.env_count,  # in environment steps
            exploration_fraction=agent.epsilon_steps / config.steps,
            exploration_initial_eps=agent.epsilon_start,
            exploration_final_eps=agent.epsilon_end,
            max_grad_norm=agent.max_gradient_norm or 1e9,  # it does not take None
        ),
    )


#: fields of stable-baselines3's DDPG, TD3 and SAC that cannot be changed by an argument
_ACTORS = dict(activation="relu", optimizer="adam", max_gradient_norm=None, reward_clip=None,
               reward_scale=1.0)  # fmt: skip
_DETERMINISTIC = dict(loss="mse", noise="gaussian", **_ACTORS)


def _of_replay(algorithm, config, noise=None, **arguments):
    shared = _replay_arguments(config) | dict(gradient_steps=config.updates_per_launch)
    return PeerPlan(
        algorithm=algorithm,
        steps=config.steps,
        env_count=config.env_count,
        arguments=shared | arguments,
        noise=noise,
    )


def _check_deterministic(config, algo, **fixed):
    """UsageError unless the config has one step size and one deviation of the noise."""
    agent = config.agent
    _check_fixed(config, dict(algo=algo, **_DETERMINISTIC, **fixed))
    both = dict(actor_learning_rate=agent.learning_rate, noise_end=agent.noise_start)
    _check_fixed(config, dict(algo=algo) | both)


def ddpg(config):
    """The ``PeerPlan`` of stable-baselines3's DDPG with the hyperparameters of the run's
    ``config``.

    That DDPG draws uniformly, and its actor ascends the critic as it is after the critic's step, so
    ``alpha``, ``beta`` and ``lagged_critic`` are left out. UsageError for another value that it
    cannot have: it has one learning rate, and one deviation of the noise.
    """
    config = config.in_run()
    _check_deterministic(config, "ddpg", target_interval=1)
    return _of_replay("DDPG", config, ["normal", config.agent.noise_start])


def td3(config):
    """The ``PeerPlan`` of stable-baselines3's TD3 with the hyperparameters of the run's ``config``;
    what is left out, and errors, as in ``ddpg``."""
    config = config.in_run()
    agent = config.agent
    _check_deterministic(config, "td3", target_interval=None)
    return _of_replay(
        "TD3",
        config,
        ["normal", agent.noise_start],
        policy_delay=agent.policy_delay,
        target_policy_noise=agent.target_noise,
        target_noise_clip=agent.target_noise_clip,
    )


def sac(config):
    """The ``PeerPlan`` of stable-baselines3's SAC with the hyperparameters of the run's ``config``;
    it draws uniformly, so ``alpha`` and ``beta`` are left out. UsageError for a value that it
    cannot have."""
    config = config.in_run()
    agent, entropy = config.agent, config.agent.entropy_coefficient
    _check_fixed(config, dict(algo="sac", loss="squared", target_interval=1, **_ACTORS))
    return _of_replay(
        "SAC",
        config,
        ent_coef=f"auto_{entropy}" if agent.learn_entropy_coefficient else entropy,
        target_entropy="auto" if agent.target_entropy is None else agent.target_entropy,
    )


#: name -> function that makes a PeerPlan from the config of the run with which it is compared
PEERS = {"ddpg": ddpg, "dqn": dqn, "ppo": ppo, "sac": sac, "td3": td3, "zoo": zoo}
