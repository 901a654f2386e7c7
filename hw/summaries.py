"""A line about each design of this repository. The lines are apart from the designs, since a list
of names shall import no core."""

__all__ = ["SUMMARIES"]

SUMMARIES = {
    "replay": "prioritized replay: sum tree, draws, gather and insert (CF'22, PEARL)",
    "gae": "advantages and rewards-to-go of 8-bit rollouts, in place (HEPPO)",
    "dqn": "DQN on the card: replay, gradient steps, optimizer (CF'22, PEARL)",
    "ddpg": "DDPG on the card: replay, critic and actor, optimizer (CF'22, PEARL)",
    "td3": "TD3 on the card: replay, two critics and a later actor, optimizer (PEARL)",
    "fixar": "DDPG with quantization-aware training on array cores (FIXAR)",
    "a3c": "A3C: inference and training of convolutional networks, RMSProp (FA3C)",
}
