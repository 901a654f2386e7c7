"""Commands of ``rlfabric``, which ``app`` joins: ``making`` (Verilog, bitstreams, reports),
``inspecting`` (fields, policies); what they ask for, what they print."""
