"""Where the work is done: a function and items in, results as they finish. Knows nothing of audits.

All executors keep one law: the same results, whoever computes them and whoever dies meanwhile; items are taken
as they are needed; and once nobody listens any more the work ends, with every process that was started for it.
"""

from harness.executors.cluster import Cluster
from harness.executors.in_process import Serial, Threads
from harness.executors.mapper import Mapper
from harness.executors.processes import Processes

__all__ = ["Cluster", "Mapper", "Processes", "Serial", "Threads"]
