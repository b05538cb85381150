"""The functions of `import kibi` that run a model on a data set."""

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kibi.errors import bounded
from kibi.ir import Graph, check_graph

if TYPE_CHECKING:
    from kibi.quantization.comparing import LayerComparison
    from kibi.reports.evaluation import Evaluation


@bounded
def evaluate(
    model: Graph,
    data: str | os.PathLike[str] | Callable[[], Iterable[Any]],
    *,
    truth: str | os.PathLike[str] | None = None,
    labels: Sequence[str] | None = None,
    score: str | None = None,
    windows: int = 1,
    reference: Graph | None = None,
    most: int | None = None,
    keep_state: bool = False,
    workers: int | None = None,
    resume: str | os.PathLike[str] | None = None,
    worst: str | os.PathLike[str] | None = None,
    worst_count: int = 10,
    scheduler: str | None = None,
    watch: Callable[[int, int | None], None] | None = None,
) -> "Evaluation":
    """Runs a model on a data set, as C code on all cores, and says how good its answers are.

    The first inputs run in Python, too, and must give the same bits. An interruption (`KeyboardInterrupt`) ends the evaluation
    early; then `is_complete` of the result is False.

    Args:
        model: the graph.
        data: the path of a `.npz` or `.npy` file or of a folder; `module:function` or `file.py:function`; or a function that yields
            inputs, or pairs of input and label. The page on evaluating a model describes each.
        truth: a file with the label of each input, `.npy` or text; None: the labels in the data, if there are any.
        labels: the names of the classes in order; None: they have numbers.
        score: the score of a detector of anomalies: `reconstruction`, `output` or `class:N`; None: what follows from the shapes.
        windows: how many inputs after one another are windows of one, whose scores are averaged.
        reference: a model of the same network, mostly the one before it was quantized, to compare the outputs with.
        most: how many inputs at most; None: all.
        keep_state: True if each inference goes on with the variables that the one before has left, on one core; False if each
            begins with their first values.
        workers: how many processes; None: one on each core.
        resume: a file to which each batch that was counted is written, and from which a later call goes on.
        worst: a folder for the worst inputs: pictures of those that can be seen as one, arrays of all others.
        worst_count: how many at most.
        scheduler: the address of a Dask scheduler, such as `tcp://host:8786`, whose workers run parts of the data, which they open
            themselves under the same path; None: processes of this machine run them.
        watch: is told how many inputs were counted, and how many there are, or None.

    Returns:
        The figures.

    Raises:
        InputError: the data, labels or options do not fit the model, or the file to go on from is of something else.
        MismatchError: the C code on this machine and the Python runtime disagree.
        ToolchainError: the compiler or an extra is missing, it fails, or the scheduler has no workers.
        LimitError: a loop of a model took too many iterations.
        OutputError: a file cannot be written.
    """
    from kibi.clusters.cluster import on_scheduler  # noqa: PLC0415 - `import kibi` starts nothing heavy, here and below
    from kibi.files import check_path  # noqa: PLC0415
    from kibi.reports.evaluating import Request  # noqa: PLC0415
    from kibi.reports.evaluating import evaluate as run  # noqa: PLC0415

    check_graph(model)
    request = Request(
        graph=model,
        data=data if callable(data) else os.fspath(data),
        truth=None if truth is None else Path(truth),
        labels=labels,
        score=score,
        windows=windows,
        reference=reference,
        most=most,
        keep_state=keep_state,
        workers=workers,
        resume=None if resume is None else check_path(resume, "the path of the file to resume from"),
        worst=None if worst is None else check_path(worst, "the folder of the worst inputs"),
        worst_count=worst_count,
        runner=None if scheduler is None else on_scheduler(scheduler),
    )
    return run(request, watch)


@bounded
def compare_layers(
    model: Graph, reference: Graph, data: str | os.PathLike[str] | Callable[[], Iterable[Any]]
) -> "LayerComparison":
    """Compares what each layer of a quantized model makes with what the float32 model makes, on up to 32 inputs of a data set.

    It is the measure of `kibi.quantize`, for a model of any converter. Layers are matched by the names of the tensors that they
    make.

    Args:
        model: the graph as `kibi.load(path, decompress=True)` gives it: before the lossless passes, which may change tensors other
            than the outputs, and with all weights decoded.
        reference: the float32 model that it was quantized from, loaded in the same way.
        data: as for `kibi.evaluate`.

    Returns:
        The decibels of each layer, and which layers have no partner.

    Raises:
        InputError: the data do not fit, or the models are not of one network.
        ToolchainError: the compiler is missing or fails.
    """
    from kibi.quantization.comparing import compare  # noqa: PLC0415 - `import kibi` starts nothing heavy

    check_graph(model)
    return compare(model, reference, data if callable(data) else os.fspath(data))
