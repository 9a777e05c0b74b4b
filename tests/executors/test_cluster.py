"""An audit on a Dask cluster: the report of one process, also when a worker is killed in the middle."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from harness.auditing.plan import Claim, Plan
from harness.auditing.procedure import Audit
from harness.executors import Cluster, Serial
from harness.report import Report
from harness.synthetic_census import people
from harness.vocabulary.dataset import Dataset
from harness.vocabulary.errors import InputError
from harness.vocabulary.schema import Schema
from oracles.reference import Mondrian
from tests.data import PEOPLE

distributed = pytest.importorskip("distributed")
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def local():
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50) as local:
        yield local


@pytest.fixture(scope="module")
def plan():
    return Plan(Dataset.from_frame(people(300), Schema(PEOPLE, "occupation")), Claim(0.5))


def report(plan, executor, during=lambda count: None):
    audit = Audit(plan, Mondrian(k=5), executor=executor)
    findings = []
    for finding in audit.run():
        findings.append(finding)
        during(len(findings))
    return Report.of(audit, findings).to_json()


@pytest.fixture(scope="module")
def serial(plan):
    return report(plan, Serial())


def test_a_cluster_gives_the_report_of_one_process(plan, local, serial):
    assert report(plan, Cluster(local.scheduler_address)) == serial


def test_a_worker_killed_in_the_middle_changes_nothing(plan, local, serial):
    def kill_one(count):
        if count == 20:
            nanny = next(iter(local.workers.values()))
            os.kill(nanny.process.pid, signal.SIGKILL)

    assert report(plan, Cluster(local.scheduler_address), kill_one) == serial


def test_a_cluster_of_this_machine_is_started_when_it_is_asked_for(plan, serial):
    assert report(plan, Cluster("local:2")) == serial


def test_a_function_of_no_module_travels_by_value(local):
    assert sorted(Cluster(local.scheduler_address).map(lambda number: number + 1, range(5))) == [1, 2, 3, 4, 5]


def test_where_no_scheduler_answers_the_address_is_named(monkeypatch):
    monkeypatch.setattr("harness.executors.cluster.TIMEOUT", 1.0)
    with pytest.raises(InputError, match="no Dask scheduler answers at tcp://127.0.0.1:9"):
        list(Cluster("tcp://127.0.0.1:9").map(abs, [1]))


def test_without_dask_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(InputError, match=r"pip install 'anonymizer-harness\[cluster\]'"):
        list(Cluster("local:2").map(abs, [1]))


PROGRAM = """
    import sys, time
    from harness.executors import Cluster

    def slow(number):
        time.sleep(0 if number < 3 else 30)
        return number

    if __name__ == "__main__":
        results = Cluster("local:2").map(slow, range(100))
        next(results)
        try:
            print("going", flush=True)
            {then}
        except KeyboardInterrupt:
            print("stopped", flush=True)
"""


def ended(folder, then, signalled):
    """What a program said to the end, and how long it took."""
    file = folder / "program.py"
    file.write_text(textwrap.dedent(PROGRAM).format(then=then))
    with subprocess.Popen(
        [sys.executable, str(file)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as started:
        try:
            assert started.stdout.readline() == "going\n"
            time.sleep(0.5)  # Python drops a Ctrl-C that falls into a __del__, of which Dask has many while it moves
            start = time.monotonic()
            if signalled:
                os.killpg(started.pid, signalled)
            said = started.communicate(timeout=20)
            return said, time.monotonic() - start
        finally:
            started.kill()


def test_ctrl_c_ends_a_local_cluster_in_silence(tmp_path):
    said, seconds = ended(tmp_path, "list(results)", signal.SIGINT)
    assert said == ("stopped\n", "")
    assert seconds < 5  # two, on a machine that does nothing else


def test_a_program_that_forgets_its_cluster_ends_all_the_same(tmp_path):
    said, seconds = ended(tmp_path, "sys.exit()", None)
    assert said == ("", "")
    assert seconds < 5
