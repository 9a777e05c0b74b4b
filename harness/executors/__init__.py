"""Where the work is done: a function and items in, results as they finish. Knows nothing of audits.

All executors keep one law: the same results, whoever computes them and whoever dies meanwhile; items are taken
as they are needed; and once nobody listens any more the work ends, with every process that was started for it.
"""

from harness.executors.cluster import Cluster
from harness.executors.in_process import Serial, Threads
from harness.executors.mapper import Mapper
from harness.executors.processes import Processes
from harness.vocabulary.errors import InputError

__all__ = ["Cluster", "Mapper", "Processes", "Serial", "Threads", "choose_executor"]


def choose_executor(workers: int, *, in_process: bool, cluster: str | None = None) -> Mapper:
    """The executor for so many workers: a cluster where its address is given, processes for an oracle that computes
    in this process, threads for one that is waited for.
    """
    if cluster is not None:
        return Cluster(cluster)
    if not isinstance(workers, int) or isinstance(workers, bool) or workers < 1:
        raise InputError(f"workers must be a whole number of at least 1, not {workers!r}")
    if workers == 1:
        return Serial()
    return Processes(workers) if in_process else Threads(workers)
