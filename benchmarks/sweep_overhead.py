"""What a sweep takes beside its measurements: time for each task, and memory of the scheduler.

    python benchmarks/sweep_overhead.py --tasks 100000

Models and outcomes are simulated: no task takes time by itself. All else is real: a scheduler and workers as processes of their
own, models of some kilobytes that are sent to them, a journal, a table. Printed are milliseconds for each task, and the resident
memory of the scheduler after each tenth of the tasks. `--docs` writes the figures into docs/sweep.md.
"""

import argparse
import json
import os
import random
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psutil
import sweep_overhead  # this file again: workers know its functions by this name, not as those of a script

from kibi.clusters.tools import Tools
from kibi.files import temporary_folder
from kibi.sweeps.call import runner
from kibi.sweeps.models import Model
from kibi.sweeps.rows import Costs, Outcome, Status
from kibi.sweeps.run import Job, run_sweep
from kibi.sweeps.settings import Grid, Setting

_GRID = Grid(targets=("cortex-m4", "cortex-m0plus"), levels=("s", "3"))
_PARTS = 10
_PAGE = Path(__file__).resolve().parents[1] / "docs" / "sweep.md"
_SECTION = re.compile(r"(?s)(?<=<!-- overhead -->\n).*?(?=<!-- /overhead -->)")


def simulated(data: bytes, name: str, setting: Setting, tools: Tools) -> Outcome:
    """An outcome without a measurement."""
    del name, setting, tools
    size = len(data)
    return Outcome(Status.MEASURED, costs=Costs(size, size, 0, 100, size, size, 0, size, size, size, size))


def models(count: int, size_bytes: int) -> Iterator[Model]:
    """Models that are none, each of other bytes."""
    draw = random.Random(0)  # noqa: S311 - a benchmark
    for number in range(count):
        yield Model(f"model_{number}", (("number", number),), draw.randbytes(size_bytes))


def section(
    tasks: int, workers: int, size_bytes: int, each_ms: tuple[float, float], megabytes: Mapping[int, float]
) -> str:
    """Returns the section of the page.

    Args:
        tasks: how many there were.
        workers: of the cluster.
        size_bytes: of each model.
        each_ms: what a task takes in a loop, and on the cluster.
        megabytes: resident memory of the scheduler after so many tasks.
    """
    alone, on_cluster = each_ms
    (_, start), *rest = megabytes.items()
    first, last = rest[0], rest[-1]
    each_kb = 1000 * (last[1] - first[1]) / (last[0] - first[0])
    lines = (
        f"`python benchmarks/sweep_overhead.py --tasks {tasks} --docs` runs a sweep whose measurements are simulated and take no",
        f"time. All else is real: a scheduler, {workers} workers, models of {size_bytes:,} bytes that are sent to them, keys, a",
        f"journal, a table. On a machine with {os.cpu_count()} processors, which other programs used, too, a task took",
        f"{on_cluster:.1f} ms, and {alone:.1f} ms in a plain loop: the cluster adds {on_cluster - alone:.1f} ms. A measurement",
        f"takes about a second. The scheduler began with {start:.0f} MB. It had {first[1]:.0f} MB after {first[0]:,} tasks, and",
        f"{last[1]:.0f} MB after {last[0]:,}: {each_kb:.1f} kB for each task. Few tasks are with the scheduler at a time: four for",
        "each thread of the workers, and at least 16.",
    )
    return "\n".join([*lines, ""])


@contextmanager
def cluster(workers: int, folder: Path) -> Iterator[tuple[str, psutil.Process]]:
    """Starts a scheduler and workers, and yields the address and the scheduler's process."""
    path = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    environment = {**os.environ, "PYTHONPATH": path}
    file = folder / "scheduler.json"
    with ExitStack() as held:

        def start(*words: str) -> subprocess.Popen[bytes]:
            made = subprocess.Popen(
                [sys.executable, "-m", "dask", *words], env=environment, cwd=folder, stderr=subprocess.DEVNULL
            )
            held.callback(made.wait)
            held.callback(made.kill)
            return made

        made = start("scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(file))
        while not file.exists() or not file.read_text(encoding="utf-8").strip():
            time.sleep(0.1)
        address = json.loads(file.read_text(encoding="utf-8"))["address"]
        for _ in range(workers):
            start(
                "worker", address, "--nthreads", "1", "--no-nanny", "--no-dashboard", "--local-directory", str(folder)
            )
        yield address, psutil.Process(made.pid)


def taken(job: Job) -> float:
    """Runs a sweep, and returns its seconds."""
    started = time.monotonic()
    run_sweep(job)
    return time.monotonic() - started


def main() -> None:
    """Runs the sweep in a plain loop and on a cluster."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tasks", type=int, default=2000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--bytes", type=int, default=20_000, help="of each model")
    parser.add_argument("--docs", action="store_true", help="write the figures into docs/sweep.md")
    given = parser.parse_args()
    count = max(given.tasks // len(_GRID.settings), 1)
    tasks = count * len(_GRID.settings)
    simulation = sweep_overhead.simulated
    with temporary_folder() as folder:
        loop = Job(
            models(count, given.bytes), _GRID, None, folder / "loop.parquet", runner(None, 0), measure=simulation
        )
        alone = taken(loop)
        print(f"{tasks:,} tasks in a loop: {1000 * alone / tasks:.2f} ms for each task")
        with cluster(given.workers, folder) as (address, scheduler):
            warm = Job(
                models(8, given.bytes), _GRID, None, folder / "warm.parquet", runner(address, None), measure=simulation
            )
            run_sweep(warm)
            megabytes = {0: scheduler.memory_info().rss / 1e6}
            print(f"scheduler before: {megabytes[0]:.0f} MB")
            reported = 0

            def watch(text: str) -> None:
                nonlocal reported
                done = int(text.split(maxsplit=1)[0].replace(",", ""))
                if done >= reported + tasks // _PARTS:
                    reported = done
                    megabytes[done] = scheduler.memory_info().rss / 1e6
                    print(f"scheduler after {done:,} tasks: {megabytes[done]:.0f} MB", flush=True)

            path = folder / "cluster.parquet"
            job = Job(models(count, given.bytes), _GRID, None, path, runner(address, None), watch, simulation)
            on_cluster = taken(job)
        print(f"{tasks:,} tasks on {given.workers} workers: {1000 * on_cluster / tasks:.2f} ms for each task")
        same = (folder / "loop.parquet").read_bytes() == (folder / "cluster.parquet").read_bytes()
        print(f"overhead {1000 * (on_cluster - alone) / tasks:.2f} ms for each task; same tables: {same}")
    if given.docs:
        each_ms = (1000 * alone / tasks, 1000 * on_cluster / tasks)
        text = section(tasks, given.workers, given.bytes, each_ms, megabytes)
        _PAGE.write_text(
            _SECTION.sub(lambda _: text, _PAGE.read_text(encoding="utf-8")), encoding="utf-8", newline="\n"
        )


if __name__ == "__main__":
    main()
