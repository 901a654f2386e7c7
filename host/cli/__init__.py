"""The command line. ``main`` starts it, ``app`` joins the commands; see also ``kernel_commands``
(Verilog, bitstreams, reports) and ``agent_commands`` (fields, policies). ``explore`` and
``compose`` have their commands in folders of their own, ``host.explore`` and ``host.compose``.
"""
