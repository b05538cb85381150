"""Sweeps on a cluster: every row once, also where workers or the sweep itself are killed."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import kibi
from kibi.sweeps.journal import journal_path
from kibi.sweeps.rows import Status
from kibi.sweeps.table import read_table
from tests.clusters.extra import check_sweep
from tests.clusters.processes import Processes, three_workers
from tests.sweeps import evaluations
from tests.sweeps.work import small_model

_ROOT = Path(__file__).parents[2]


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


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[Processes]:
    """A scheduler and three workers."""
    with three_workers(tmp_path) as made:
        yield made


@pytest.mark.slow
def test_sweep_on_three_workers_of_which_one_is_killed_has_every_row_once(processes: Processes, tmp_path: Path) -> None:
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
def test_sweep_that_is_killed_goes_on_with_another_scheduler(processes: Processes, tmp_path: Path) -> None:
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
