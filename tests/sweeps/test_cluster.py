"""Tasks on the workers of a cluster: all results, each once, also where workers die; and the memory of the scheduler."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import kibi
from kibi.errors import ToolchainError
from kibi.sweeps.cluster import OnCluster, _Running, joined_cluster, local_cluster
from kibi.sweeps.journal import journal_path
from kibi.sweeps.rows import Status
from kibi.sweeps.table import read_table
from kibi.sweeps.tasks import InThisProcess, Runner, Task, WorkerDied
from tests.fuzz.runner import fuzz
from tests.sweeps import evaluations
from tests.sweeps.extra import check_sweep
from tests.sweeps.work import add, double, double_or_die, fail, nothing, small_model

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


def test_local_cluster_speaks_tls(client: Any) -> None:
    """Whoever has no key gets no answer."""
    import distributed  # noqa: PLC0415 - an extra

    address = client.scheduler.address
    assert address.startswith("tls://127.0.0.1:")
    with pytest.raises((OSError, TypeError, RuntimeError)):
        vars(distributed)["Client"](address.replace("tls:", "tcp:"), timeout=2)


@pytest.mark.slow
def test_interrupt_from_the_terminal_ends_all_with_one_line(tmp_path: Path) -> None:
    """It reaches the workers, too; the rows so far are in the journal."""
    check_sweep()
    (tmp_path / "spec.toml").write_text(
        f'generator = "{Path(evaluations.__file__).as_posix()}:architectures"\n[arguments]\nlengths = {[*range(3, 40)]}\n',
        encoding="utf-8",
    )
    command = [sys.executable, "-m", "kibi", "sweep", "spec.toml", "--workers", "2"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(_ROOT), *sys.path])}
    started = subprocess.Popen(command, cwd=tmp_path, env=environment, stderr=subprocess.PIPE, start_new_session=True)
    journal = tmp_path / "spec.parquet.journal"
    while not (journal.exists() and journal.read_bytes().count(b"\n") > 3):
        time.sleep(0.01)
    os.killpg(started.pid, signal.SIGINT)
    _, said = started.communicate()
    assert (started.returncode, said) == (130, b"kibi: interrupted\n")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["spec.parquet.journal", "spec.toml"]


@dataclass(frozen=True, slots=True)
class _Processes:
    """A scheduler and workers, as a user starts them."""

    address: str
    workers: tuple[subprocess.Popen[bytes], ...]


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[_Processes]:
    """A scheduler and three workers that are not started again when they die."""
    check_sweep()
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(_ROOT), *sys.path])}
    with ExitStack() as held:

        def start(*words: str) -> subprocess.Popen[bytes]:
            command = [sys.executable, "-m", "dask", *words]
            made = subprocess.Popen(command, env=environment, cwd=tmp_path, stderr=subprocess.DEVNULL)
            held.callback(made.wait)
            held.callback(made.kill)
            return made

        file = tmp_path / "scheduler.json"
        start("scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(file))
        address = _address(file)
        options = ("--no-nanny", "--nthreads", "1", "--no-dashboard", "--local-directory", str(tmp_path))
        yield _Processes(address, tuple(start("worker", address, *options) for _ in range(3)))


def _address(file: Path) -> str:
    """What the scheduler has written into its file, once it has."""
    for _ in range(600):
        try:
            return str(json.loads(file.read_text(encoding="utf-8"))["address"])
        except (OSError, ValueError):
            time.sleep(0.1)
    raise TimeoutError("the scheduler does not start")


@pytest.mark.slow
def test_sweep_on_three_workers_of_which_one_is_killed_has_every_row_once(
    processes: _Processes, tmp_path: Path
) -> None:
    """And the rows are those of this process."""
    lengths, table = list(range(3, 27)), tmp_path / "t.parquet"

    def kill() -> None:
        journal = journal_path(table)
        while not (journal.exists() and journal.read_bytes().count(b"\n") > 5):
            time.sleep(0.01)
        processes.workers[1].send_signal(signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    found = kibi.sweep(
        evaluations.architectures(lengths), output=table, scheduler=processes.address, evaluate=evaluations.size
    )
    killer.join()
    assert processes.workers[1].wait() == -signal.SIGKILL
    assert found.count(Status.MEASURED) == len(lengths)
    assert len({each.key for each in found.rows}) == len(lengths)
    here = kibi.sweep(
        evaluations.architectures(lengths), output=tmp_path / "u.parquet", workers=0, evaluate=evaluations.size
    )
    assert found.rows == here.rows
    assert read_table(table) == here.rows
    assert table.read_bytes() == (tmp_path / "u.parquet").read_bytes()


@pytest.mark.slow
def test_sweep_that_is_killed_goes_on_with_another_scheduler(processes: _Processes, tmp_path: Path) -> None:
    """The process itself, with no time to write anything."""
    (tmp_path / "models").mkdir()
    for length in range(3, 15):
        (tmp_path / "models" / f"relu_{length:02}.tflite").write_bytes(small_model(length))
    spec, table = tmp_path / "spec.toml", tmp_path / "t.parquet"
    spec.write_text('models = ["models/*.tflite"]\n', encoding="utf-8")
    command = [sys.executable, "-m", "kibi", "sweep", str(spec), "-o", str(table), "--scheduler", processes.address]
    started = subprocess.Popen(command, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
    while not (journal_path(table).exists() and journal_path(table).read_bytes().count(b"\n") > 4):
        time.sleep(0.01)
    started.kill()
    started.wait()
    assert not table.exists()
    found = kibi.sweep(str(tmp_path / "models" / "*.tflite"), output=table, workers=0)
    assert 4 <= found.reused < 12
    assert found.count(Status.MEASURED) == 12
    assert not journal_path(table).exists()


@pytest.mark.slow
def test_fuzzer_gives_the_same_reports_on_a_cluster(processes: _Processes) -> None:
    """Its spans are tasks like others."""
    here = [*fuzz("regions", seed=3, count=40, jobs=4)]
    there = [*fuzz("regions", seed=3, count=40, jobs=4, scheduler=processes.address)]
    assert [each.counted for each in there] == [each.counted for each in here] == [10] * 4
    assert not any(each.findings for each in (*here, *there))


@pytest.mark.slow
def test_joined_cluster_of_another_process_gives_results(processes: _Processes) -> None:
    """By its address alone."""
    with joined_cluster(processes.address) as joined:
        assert _results(OnCluster(joined), _doubles(range(4)))["kibi-sum-3"] == 5
