"""Evaluations in parts, by tasks of workers: the figures are those of one machine, also where a worker is killed."""

import contextlib
import signal
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from PIL import Image

import kibi
from kibi import demo
from kibi.clusters.tasks import InThisProcess, Runner, Task, WorkerDied
from kibi.clusters.tools import tools_here
from kibi.engines import batch
from kibi.errors import DataWarning, InputError, ToolchainError
from kibi.reports import evaluated_parts
from kibi.reports.evaluating import Request, evaluate
from tests.clusters.processes import Processes, three_workers
from tests.support.amount import share

GLYPHS = kibi.load(demo.model_path())


class _Backwards:
    """Runs tasks here, up to five at a time, of which the last ends first."""

    def __init__(self) -> None:
        self.keys: list[str] = []

    def results(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, Any]]:
        waiting = list(InThisProcess().results(tasks))
        self.keys += [task.key for task, _ in waiting]
        for start in range(0, len(waiting), 5):
            yield from reversed(waiting[start : start + 5])

    @contextlib.contextmanager
    def __call__(self) -> Iterator[Runner]:
        yield self


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Parts of seven inputs, in batches of four; and no process is left."""
    monkeypatch.setattr(batch, "_MOST_BATCH_INPUTS", 4)
    monkeypatch.setattr(evaluated_parts, "_LEAST_INPUTS", 7)
    yield
    while evaluated_parts._opened:
        evaluated_parts._opened.pop().close()


def _noisy(count: int) -> tuple[Any, Any]:
    """Samples of all digits with noise, as real values, and their labels."""
    random = np.random.default_rng(3)
    images, labels = demo.samples()
    numbers = np.arange(count) % 10
    noise = random.normal(0, 0.12, (count, *images.shape[1:]))
    return (images[numbers] / 255 + noise).clip(0, 1).astype(np.float32), labels[numbers]


def _saved(folder: Path, count: int, **further: Any) -> Path:
    images, labels = _noisy(count)
    np.savez(folder / "d.npz", x=images, y=labels, **further)
    return folder / "d.npz"


@pytest.mark.share(3, part=2)
@pytest.mark.parametrize(
    "options",
    share(
        [
            {},
            {"most": 33},
            {"most": 3},
            {"score": "class:1", "truth": True},
            {"reference": GLYPHS, "labels": [f"digit {number}" for number in range(10)]},
        ],
        0,
        2,
    ),
    ids=str,
)
def test_parts_give_the_figures_of_one_machine(options: dict[str, Any], tmp_path: Path) -> None:
    """In whatever order they end; the file to resume from is equal, too."""
    path = _saved(tmp_path, 80)
    if options.pop("truth", False):
        np.save(tmp_path / "truth.npy", np.arange(80) % 10 == 1)
        options["truth"] = tmp_path / "truth.npy"
    request = Request(GLYPHS, path, worst_count=9, resume=tmp_path / "log", **options)
    found = evaluate(replace(request, runner=_Backwards()))
    here = evaluate(replace(request, resume=None, workers=1))
    assert found == here
    assert found.inputs == options.get("most", 80)
    untouched = replace(request, runner=lambda: pytest.fail("there was nothing to run"))
    assert evaluate(untouched) == here
    assert evaluate(replace(request, workers=1)) == here


def test_parts_of_folders_and_of_arrays_have_names_and_labels(tmp_path: Path) -> None:
    """The worst inputs are read again where they are; each key is another one."""
    images, labels = _noisy(40)
    for number, (image, label) in enumerate(zip(images, labels, strict=True)):
        folder = tmp_path / "data" / str(label)
        folder.mkdir(parents=True, exist_ok=True)
        Image.fromarray((255 * image).astype(np.uint8)).save(folder / f"{number:02}.png")
    np.save(tmp_path / "d.npy", images)
    np.save(tmp_path / "truth.npy", labels)
    for data, truth in ((tmp_path / "data", None), (tmp_path / "d.npy", tmp_path / "truth.npy")):
        request, runner = Request(GLYPHS, data, truth, worst_count=4, worst=tmp_path / "worst"), _Backwards()
        found = evaluate(replace(request, runner=runner))
        written = {path.name: path.read_bytes() for path in (tmp_path / "worst").iterdir()}
        assert found == evaluate(replace(request, workers=1))
        assert written == {path.name: path.read_bytes() for path in (tmp_path / "worst").iterdir()}
        assert len(written) == 5
        assert len(set(runner.keys)) == len(runner.keys) == 6


def test_warnings_are_those_of_one_machine(tmp_path: Path) -> None:
    """They are about the first inputs, in batches of any size."""
    images, labels = _noisy(90)
    images[70:] *= 1000
    np.savez(tmp_path / "d.npz", x=200 * images, y=labels)
    request = Request(GLYPHS, tmp_path / "d.npz")
    with pytest.warns(DataWarning, match="not normalised"):
        found = evaluate(replace(request, runner=_Backwards()))
    with pytest.warns(DataWarning, match="not normalised"):
        assert found == evaluate(replace(request, workers=1))


def test_evaluation_goes_on_on_a_cluster_where_one_machine_was_interrupted(tmp_path: Path) -> None:
    """And the other way around."""
    path = _saved(tmp_path, 80)
    here = Request(GLYPHS, path, workers=1)
    there = Request(GLYPHS, path, runner=_Backwards())
    whole = evaluate(here)

    def interrupt(done: int, total: int | None) -> None:
        assert total == 80
        if done > 20:
            raise KeyboardInterrupt

    for name, first, second in (("a", here, there), ("b", there, here)):
        part = evaluate(replace(first, resume=tmp_path / name), interrupt)
        assert not part.is_complete
        assert 20 < part.inputs < 80
        assert evaluate(replace(second, resume=tmp_path / name)) == whole


def test_error_of_an_input_is_that_of_one_machine_and_comes_in_its_turn(tmp_path: Path) -> None:
    """It names the input by its number in all of the data; what was counted before stays in the file."""
    images, labels = _noisy(40)
    images[30, 3, 3] = np.nan
    np.savez(tmp_path / "d.npz", x=images, y=labels)
    request = Request(GLYPHS, tmp_path / "d.npz", resume=tmp_path / "log")
    with pytest.raises(InputError, match="not numbers"):
        evaluate(replace(request, runner=_Backwards()))
    counted = sum(line.count('"digest"') for line in (tmp_path / "log").read_text().splitlines())
    assert counted >= 4
    folder = tmp_path / "data"
    folder.mkdir()
    for number in range(20):
        np.save(folder / f"{number:02}.npy", images[number].astype(np.float64 if number == 17 else np.float32))
    texts = []
    for options in ({"runner": _Backwards()}, {"workers": 1}):
        with pytest.raises(InputError, match="type float") as error:
            evaluate(Request(GLYPHS, folder, score="class:1", **options))
        texts.append(str(error.value))
    assert texts[0] == texts[1]
    assert "input 17" in texts[0]


def test_workers_with_other_data_or_tools_are_refused(tmp_path: Path) -> None:
    """The text says what they see."""
    path = _saved(tmp_path, 20)

    class _Elsewhere(_Backwards):
        def __init__(self, **changed: Any) -> None:
            super().__init__()
            self._changed = changed

        def results(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, Any]]:
            for task in tasks:
                *first, part = task.arguments
                yield from super().results([replace(task, arguments=(*first, replace(part, **self._changed)))])

    with pytest.raises(InputError, match=r"a worker cannot open the data: .*No such file"):
        evaluate(Request(GLYPHS, path, runner=_Elsewhere(path="/nowhere/d.npz")))
    with pytest.raises(InputError, match="a worker sees 20 inputs, and not 21"):
        evaluate(Request(GLYPHS, path, runner=_Elsewhere(count=21)))
    tools = replace(tools_here("zig", "host"), numpy="0.1")
    with pytest.raises(ToolchainError, match="a worker has other tools: numpy"):
        evaluate(Request(GLYPHS, path, runner=_Elsewhere(tools=tools)))


def test_part_whose_workers_die_ends_the_evaluation(tmp_path: Path) -> None:
    """The text says which inputs it has."""
    path = _saved(tmp_path, 20)

    def results(tasks: Iterable[Task]) -> Iterator[tuple[Task, Any]]:
        return ((task, WorkerDied("they died")) for task in tasks)

    with pytest.raises(ToolchainError, match="inputs 0 to 6: they died"):
        evaluate(Request(GLYPHS, path, runner=lambda: contextlib.nullcontext(SimpleNamespace(results=results))))


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"keep_state": True}, "one after the other"),
        ({"workers": 2}, "has its own workers"),
        ({"data": "own:read"}, "workers of a cluster open the data themselves"),
        ({"data": lambda: iter([])}, "workers of a cluster open the data themselves"),
        ({"scheduler": "nobody"}, "the address of the scheduler is 'nobody'"),
    ],
    ids=["keep_state", "workers", "named function", "function", "address"],
)
def test_options_that_no_cluster_can_have_are_refused(options: dict[str, Any], expected: str, tmp_path: Path) -> None:
    """Before anybody is connected to."""
    given = {"data": _saved(tmp_path, 10), "scheduler": "tcp://127.0.0.1:1", **options}
    with pytest.raises(InputError, match=expected):
        kibi.evaluate(GLYPHS, given.pop("data"), **given)


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[Processes]:
    """A scheduler and three workers."""
    with three_workers(tmp_path) as made:
        yield made


@pytest.mark.slow
def test_evaluation_on_three_workers_of_which_one_is_killed_counts_every_input_once(
    processes: Processes, tmp_path: Path
) -> None:
    """And the result is that of this machine."""
    path, log = _saved(tmp_path, 2000), tmp_path / "log"
    counted: list[int] = []

    def watch(done: int, total: int | None) -> None:
        assert total == 2000
        counted.append(done)
        if done > 100 and processes.workers[1].poll() is None:
            processes.workers[1].send_signal(signal.SIGKILL)

    found = kibi.evaluate(GLYPHS, path, scheduler=processes.address, resume=log, watch=watch, worst_count=20)
    assert processes.workers[1].wait() == -signal.SIGKILL
    assert counted == sorted(set(counted))
    assert found == kibi.evaluate(GLYPHS, path, worst_count=20)
    assert found == kibi.evaluate(GLYPHS, path, resume=log, worst_count=20)
