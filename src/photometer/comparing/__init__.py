"""Comparing: which of two statements is faster (statements), and did the branch make it slower (environments, live)?

All comparisons use one loop (verdict_loop), which asks a sampler for replicates and a judge for the verdict.
"""
