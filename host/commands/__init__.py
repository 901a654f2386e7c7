"""Commands of ``rlfabric``. ``app`` joins them; see also ``making`` (Verilog, bitstreams, reports)
and ``inspecting`` (fields, policies). The other modules read options and print results."""
