"""Tasks on the workers of a cluster: all results, each once, also where workers die; and the memory of the scheduler."""

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kibi.clusters.cluster import OnCluster, _Running, joined_cluster, local_cluster
from kibi.clusters.tasks import InThisProcess, Runner, Task, WorkerDied
from kibi.errors import ToolchainError
from tests.clusters.extra import check_sweep
from tests.clusters.processes import Processes, three_workers
from tests.clusters.work import add, double, double_or_die, fail, nothing
from tests.fuzz.runner import fuzz

_ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    """Three workers on this machine."""
    check_sweep()
    with local_cluster(3) as made:
        yield made


def _doubles(numbers: range) -> Iterator[Task]:
    """Tasks of which each two share two others."""
    for number in numbers:
        first = Task(f"kibi-first-{number // 2}", double, (number // 2,))
        second = Task(f"kibi-second-{number // 2}", add, (first, 1))
        yield Task(f"kibi-sum-{number}", add, (first, second))


def _results(runner: Runner, tasks: Iterator[Task]) -> dict[str, Any]:
    """The results by the keys of their tasks; each key comes once."""
    found: dict[str, Any] = {}
    for task, result in runner.results(tasks):
        assert task.key not in found
        found[task.key] = result
    return found


def test_results_are_those_of_this_process(client: Any) -> None:
    """Also of tasks that share others."""
    numbers = range(100)
    found = _results(OnCluster(client), _doubles(numbers))
    assert found == _results(InThisProcess(), _doubles(numbers))
    assert found == {f"kibi-sum-{number}": 4 * (number // 2) + 1 for number in numbers}
    assert list(OnCluster(client).results(iter([]))) == []


def test_tasks_are_taken_when_there_is_room(client: Any) -> None:
    """Few are with the scheduler at a time, however many there are."""
    taken = count()
    most = 0
    tasks = (Task(f"kibi-taken-{next(taken)}", nothing, (number,)) for number in range(200))
    for done, _ in enumerate(OnCluster(client).results(tasks)):
        most = max(most, int(repr(taken)[6:-1]) - done)
    assert most <= 17


def test_task_of_a_worker_that_dies_runs_again(client: Any, tmp_path: Path) -> None:
    """No result is lost, and none comes twice."""
    marker = str(tmp_path / "died")
    tasks = (Task(f"kibi-dying-{number}", double_or_die, (number, 13, marker)) for number in range(60))
    found = _results(OnCluster(client), tasks)
    assert found == {f"kibi-dying-{number}": 2 * number for number in range(60)}
    assert Path(marker).exists()


@pytest.mark.slow
def test_task_that_kills_every_worker_is_given_up_and_the_others_are_not(client: Any) -> None:
    """The scheduler stops after some deaths."""
    tasks = (Task(f"kibi-deadly-{number}", double_or_die, (number, 5, "")) for number in range(30))
    found = _results(OnCluster(client), tasks)
    died = {key for key, result in found.items() if isinstance(result, WorkerDied)}
    assert "kibi-deadly-5" in died
    assert len(found) == 30
    assert len(died) < 10  # those that were on their way to the same worker each time


def test_result_whose_worker_dies_once_it_is_here_is_a_result() -> None:
    """The scheduler takes it for lost, and computes it again for nobody."""
    check_sweep()
    task = Task("kibi-sum-1", add, (1, 2))
    ended = iter([(SimpleNamespace(key=task.key, status="lost"), 3)])
    assert OnCluster(None)._next(ended, {task.key: _Running(task, None, ())}) == (task, 3)


def test_task_that_is_wrong_ends_the_run(client: Any) -> None:
    """It is a bug, or workers lack something."""
    with pytest.raises(ToolchainError, match="workers cannot run the tasks: RuntimeError: this task is wrong"):
        list(OnCluster(client).results(iter([Task("kibi-wrong-1", fail, ())])))


@pytest.mark.slow
def test_local_cluster_speaks_tls(client: Any) -> None:
    """Whoever has no key gets no answer."""
    import distributed  # noqa: PLC0415 - an extra

    address = client.scheduler.address
    assert address.startswith("tls://127.0.0.1:")
    with pytest.raises((OSError, TypeError, RuntimeError)):
        vars(distributed)["Client"](address.replace("tls:", "tcp:"), timeout=2)


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[Processes]:
    """A scheduler and three workers."""
    with three_workers(tmp_path) as made:
        yield made


@pytest.mark.slow
def test_fuzzer_gives_the_same_reports_on_a_cluster(processes: Processes) -> None:
    """Its spans are tasks like others."""
    here = [*fuzz("regions", seed=3, count=40, jobs=4)]
    there = [*fuzz("regions", seed=3, count=40, jobs=4, scheduler=processes.address)]
    assert [each.counted for each in there] == [each.counted for each in here] == [10] * 4
    assert not any(each.findings for each in (*here, *there))


@pytest.mark.slow
def test_joined_cluster_of_another_process_gives_results(processes: Processes) -> None:
    """By its address alone."""
    with joined_cluster(processes.address) as joined:
        assert _results(OnCluster(joined), _doubles(range(4)))["kibi-sum-3"] == 5
