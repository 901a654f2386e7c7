"""The fastest kernel for a board: ``explore_command`` searches, ``verification`` measures the
clocks of the Verilog and maps the area of the best points (``resource_report``).
"""
