"""The arithmetic of a layer: systolic chains of PEs, forward and backward (CF'22 3.2.1).

Read ``token_issue.py`` (macro-cycles and tokens), ``forward_pe.py``, ``forward.py``; then
``backward_pe.py``, ``delta_banks.py`` (errors on their way into the PEs), ``backward_tail.py`` (the
sums behind the last PE) and ``backward.py``. Addresses go out, weights come in: no memory is here.
"""
