"""Programs on a card: ``launcher`` runs lists of commands of any design, ``encoder`` writes them
as bytes.
"""
