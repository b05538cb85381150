"""Runs cases in processes of their own, with limits, and collects what went wrong.

A worker says before each case which one it is. So a worker that dies (a crash, memory, native code that does not come back) names
the case, and its successor goes on after it.
"""

import faulthandler
import hashlib
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from pathlib import Path
from types import FrameType

from kibi.clusters.tasks import Task, WorkerDied
from tests.fuzz.checks import is_too_little_memory
from tests.fuzz.stages import STAGES, Case, scratch_folder

SECONDS = 10
"""Processor time that a case may take."""
MEMORY_BYTES = 2 << 30
"""Memory that a case may take, beside what the program itself has."""
_LONGEST_SPAN, _SPAN = 20_000, {"native": 4}
"""Cases that one process runs, so that nothing adds up over many."""
MIXED = "mixed"
"""Cases of all stages that need no compiler in turn: so few of each that starting a process for each stage would take longer."""
MIXED_STAGES = tuple(name for name in STAGES if name not in {"load", "native", "c_api"})
_STUCK_SECONDS = 120
"""Native code that does not come back is ended after that, by the clock on the wall."""


_ROOT = Path(__file__).parents[2]
_TAIL_BYTES = 4000
"""What is kept of what a worker said before it died."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A case that ended neither in success nor in a fair error.

    Attributes:
        stage, number, seed: make the case again.
        kind: the exception's type, or how the process ended.
        where: the innermost line of Kibi's own, for telling findings apart.
        text: what was said.
        data_hex: the input, where it was made before the failure; the first 64 kB.
    """

    stage: str
    number: int
    seed: int
    kind: str
    where: str
    text: str
    data_hex: str = ""

    @property
    def digest(self) -> str:
        """Equal for findings that are likely one bug."""
        return hashlib.sha256(f"{self.stage} {self.kind} {self.where}".encode()).hexdigest()[:10]


class _TooLongError(BaseException):
    """A case has taken its time; no handler of Kibi's own may swallow it."""


def too_long(number: int, frame: FrameType | None) -> None:
    del number, frame
    raise _TooLongError


def run_case(stage: str, number: int, seed: int, folder: Path) -> tuple[int, Finding | None]:
    """Run one case: how many it counts for, and the finding if it is one."""
    from kibi.errors import InternalError, KibiError  # noqa: PLC0415

    case = Case(stage, number, seed, folder)
    limit = SECONDS * (30 if stage == "native" else 1)  # a program of many models, compiled
    signal.setitimer(signal.ITIMER_PROF, limit)
    error: BaseException | None = None
    count = 1
    try:
        count = STAGES[stage](case)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as raised:  # noqa: BLE001 - whatever it is, it is the result
        error = raised
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    is_fair = isinstance(error, KibiError) and not isinstance(error, InternalError) and not is_too_little_memory(error)
    if error is None or is_fair:
        return count, None
    text = f"{type(error).__name__}: {error}"[:4000]
    return 1, Finding(stage, number, seed, type(error).__name__, _where(error), text, case.data[: 1 << 16].hex())


def _where(error: BaseException) -> str:
    """The innermost line of Kibi's own that an exception passed."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "kibi" in Path(frame.filename).parts]
    chosen = frames[-1] if frames else traceback.extract_tb(error.__traceback__)[-1]
    return f"{Path(chosen.filename).name}:{chosen.lineno} {chosen.name}"


def _of(stage: str, number: int) -> tuple[str, int]:
    """The stage of a case and its number there."""
    if stage != MIXED:
        return stage, number
    return MIXED_STAGES[number % len(MIXED_STAGES)], number // len(MIXED_STAGES)


def work(stage: str, seed: int, first: int, last: int) -> None:
    """The worker: runs cases `first` to before `last`, and writes a line for each start, finding, and the end."""
    signal.signal(signal.SIGPROF, too_long)
    faulthandler.enable()
    stream = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what Kibi prints goes beside the record
    folder = scratch_folder()
    if stage != "native":  # the address sanitizer reserves terabytes of addresses
        _limit_memory()
    done = 0
    for number in range(first, last):
        stream.write(f"{number} {done}\n")
        faulthandler.dump_traceback_later(_STUCK_SECONDS * (10 if stage == "native" else 1), exit=True)
        count, finding = run_case(*_of(stage, number), seed, folder)
        done += count
        if finding is not None:
            stream.write(json.dumps(asdict(finding)) + "\n")
    faulthandler.cancel_dump_traceback_later()
    stream.write(f"{last} {done}\n")


def _limit_memory() -> None:
    """Let the process grow by what a case may take. Programs that it starts have the same limit."""
    used = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY_BYTES, resource.RLIM_INFINITY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


@dataclass(frozen=True, slots=True)
class Report:
    """What a span of cases gave: how many were counted, and the findings."""

    counted: int
    findings: tuple[Finding, ...]


def fuzz(
    stage: str, *, seed: int, count: int, jobs: int = 1, first: int = 0, scheduler: str | None = None
) -> Iterator[Report]:
    """Run cases `first` to before `first + count` of a stage; a report for each span of them, as they end.

    Args:
        stage: one of `STAGES`, or `MIXED`.
        seed: of all cases.
        count: how many.
        jobs: processes at a time.
        first: the first number.
        scheduler: the address of a Dask scheduler, whose workers have this folder under the same path; None: this machine.
    """
    span = max(1, min(_SPAN.get(stage, _LONGEST_SPAN), -(-count // jobs)))
    starts = range(first, first + count, span)
    if scheduler is not None:
        yield from _on_cluster(scheduler, stage, seed, [(start, min(start + span, first + count)) for start in starts])
        return
    with ThreadPoolExecutor(jobs) as pool:
        futures = [pool.submit(_span, stage, seed, start, min(start + span, first + count)) for start in starts]
        for future in as_completed(futures):
            yield future.result()


def _on_cluster(scheduler: str, stage: str, seed: int, spans: Sequence[tuple[int, int]]) -> Iterator[Report]:
    """Reports of spans that workers of a cluster run; a span that ended all of its workers is a finding."""
    from kibi.clusters.cluster import OnCluster, joined_cluster  # noqa: PLC0415 - an extra

    tasks = (
        Task(f"kibi-fuzz-{stage}-{seed}-{first}-{last}", _span, (stage, seed, first, last)) for first, last in spans
    )
    with joined_cluster(scheduler) as client:
        for task, result in OnCluster(client).results(tasks):
            died = Finding(stage, task.arguments[2], seed, "WorkerDied", "", str(result))
            yield Report(0, (died,)) if isinstance(result, WorkerDied) else result


def _span(stage: str, seed: int, first: int, last: int) -> Report:
    """Run a span in a worker; where it dies, the next one goes on after the case that it died of."""
    counted, findings, at = 0, list[Finding](), first
    while at < last:
        done = 0
        command = [sys.executable, "-m", "tests.fuzz.runner", stage, str(seed), str(at), str(last)]
        with (
            tempfile.TemporaryFile() as said,
            subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=said, text=True, env=_environment(), cwd=_ROOT
            ) as worker,
        ):
            for line in worker.stdout or ():
                if line.startswith("{"):
                    findings.append(Finding(**json.loads(line)))
                else:
                    at, done = map(int, line.split())
            code = worker.wait()
            said.seek(max(0, said.seek(0, os.SEEK_END) - _TAIL_BYTES))
            text = said.read().decode(errors="replace")
        counted += done
        if at < last:
            how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
            findings.append(Finding(*_of(stage, at), seed, how, _last_frame(text), text))
            at += 1
    return Report(counted, tuple(findings))


def _last_frame(text: str) -> str:
    """The innermost line of Kibi's own that a worker printed when it was ended."""
    frames = [line.strip() for line in text.splitlines() if "/kibi/" in line]
    return frames[0].rpartition("/")[2] if frames else ""


def _environment() -> dict[str, str]:
    return {**os.environ, "OPENBLAS_NUM_THREADS": "1"}


if __name__ == "__main__":
    work(sys.argv[1], *map(int, sys.argv[2:5]))
