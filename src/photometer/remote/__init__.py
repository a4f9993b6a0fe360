"""More than one machine: the nodes of a Ray cluster do the work of runs, comparisons and histories.

`node_worker.py` is what lives on a node, `cluster.py` starts or joins Ray, `node_actors.py` keeps an actor per node,
`node_slots.py` says which job may run where, and `ray_workplace.py` puts them together behind the scheduler's seam
(execution/workplace.py). `stages.py`, `commits.py` and `comparisons.py` are larger units. Ray is imported where used.
"""
