"""What disturbs measurements on this machine, and what to do about it: the facts, a noise test, and their summary.

Only `tune.py` changes anything. Nothing here imports torch: a process of its own reports about it.
"""
