"""Many commits measured: a range of them for the history, and the one that changed something, by bisection.

`lane.py` starts commits one after the other; `range_run.py` measures a range of them, and compares the two commits of
a suspected change live; `bisection.py` chooses commits, and `search.py` judges them.
"""
