"""Many commits measured: a range of them for the history, and the one that changed something, by bisection.

`lane.py` starts commits one after the other, `range_run.py` and `bisection.py` choose which, `search.py` judges them,
`confirm.py` compares the two commits of a suspected change live.
"""
