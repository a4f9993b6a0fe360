"""Times on an accelerator: host and device separately, cache hot and cold, graph replay, end to end.

accelerator   what is needed from a device, as small protocols
torch_accelerator, torch_profiler, nvml      their implementations on a real device
sampler       a block of runs to seconds: by events or by the profiler's kernel times
blocks        how large blocks are, how many are taken, and which are kept
measure       the whole table of modes for one statement
alternate     replicates of two alternating statements, for an A/B comparison

`measure` and everything it imports need only the standard library and torch: it runs in the measured environment, too.
"""
