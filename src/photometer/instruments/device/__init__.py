"""Times on an accelerator: host and device apart, cache hot and cold, graph replay, end to end.

accelerator   what is asked of a device, as small parts that a fake can stand for
torch_accelerator, torch_profiler, nvml      those parts on a real one
sampler       a block of runs to seconds: by events or by the profiler's kernel times
measure       the whole table of modes for one statement
alternate     replicates of two statements in turn, for an A/B comparison
"""
