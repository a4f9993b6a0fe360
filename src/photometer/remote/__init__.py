"""More than one machine: the nodes of a Ray cluster do the work of runs, comparisons and histories.

`node_worker.py` runs on each node, `cluster.py` starts or joins Ray, `node_actors.py` keeps one actor per node,
`node_slots.py` decides which job may run where, and `ray_workplace.py` combines them behind the scheduler's interface
(execution/workplace.py). `commits.py` and `comparisons.py` are larger units. Ray is imported where used.
"""
