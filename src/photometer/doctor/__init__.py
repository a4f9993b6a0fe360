"""What on this machine disturbs measurements, and what to do about it: the facts, a noise test, and their summary.

Everything here reads only, except `tune.py`. Nothing imports torch: a process of its own is asked about it.
"""
