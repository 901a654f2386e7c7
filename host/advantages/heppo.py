"""PPO's presets; a list of their names needs no more than this."""

__all__ = ["HEPPO"]

#: name -> how advantages are estimated (HEPPO V-C, Table III); results have 32 bits in all of them
HEPPO = {
    "heppo1": dict(rewards="raw", values="raw", code_width=32),
    "heppo2": dict(rewards="dynamic", values="raw", code_width=32),
    "heppo3": dict(rewards="restored", values="restored", code_width=8),
    "heppo4": dict(rewards="block", values="restored", code_width=8),
    "heppo5": dict(rewards="dynamic", values="restored", code_width=8),
}
