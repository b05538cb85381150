"""Bugs in what runs many inputs, and in what is said of their outputs."""

from tests.mutations.mutation import Mutation

_BATCH, _METRICS = "tests/engines/test_batch.py", "tests/reports/test_metrics.py"
_EVALUATING, _DATASET = "tests/reports/test_evaluating.py", "tests/runtime/test_dataset.py"

EVALUATION = (
    Mutation(
        "engines.batch-keeps-state-of-the-input-before",
        "engines/host_worker.py",
        'if what == "run" and request["reset"]:',
        'if what == "run" and request["reset"] and not number:',
        "An independent input begins with the variables that the one before has left.",
        (_BATCH, "-k", "independent"),
    ),
    Mutation(
        "engines.batch-is-not-compared",
        "engines/batch.py",
        "for number in range(min(count, CHECKED_INPUTS)):",
        "for number in range(min(count, CHECKED_INPUTS) - 1):",
        "The last of the first inputs is not compared with Python.",
        (_BATCH, "-k", "other_bits"),
    ),
    Mutation(
        "engines.damage-is-not-looked-for-before-a-block",
        "engines/host_worker.py",
        "ctypes.string_at(place - GUARD_BYTES, GUARD_BYTES) != _GUARD",
        "ctypes.string_at(place + size, GUARD_BYTES) != _GUARD",
        "A byte that C writes before its memory goes unnoticed.",
        (_BATCH, "-k", "outside"),
    ),
    Mutation(
        "reports.equal-scores-count-as-in-order",
        "reports/metrics.py",
        "ranks = np.cumsum(counts) - (counts - 1) / 2",
        "ranks = np.cumsum(counts) - (counts - 1) // 2",
        "Pairs of equal scores do not count half.",
        (_METRICS, "-k", "area"),
    ),
    Mutation(
        "reports.threshold-within-equal-scores",
        "reports/metrics.py",
        "best = int(np.argmax(np.where(ends, found - alarms, -np.inf)))",
        "best = int(np.argmax(found - alarms))",
        "A threshold divides inputs of equal scores.",
        (_METRICS, "-k", "threshold"),
    ),
    Mutation(
        "reports.margin-against-the-label-itself",
        "reports/judging.py",
        "others[rows, chosen] = -np.inf",
        "others[rows, answers] = -np.inf",
        "The best other class is not found where the answer is wrong.",
        (_EVALUATING, "-k", "classifier_by_hand"),
    ),
    Mutation(
        "reports.known-labels-are-not-checked-first",
        "reports/evaluating.py",
        "islice(self._dataset.labels(), request.most)",
        "islice(self._dataset.labels(), 1)",
        "A label that does not fit is found after the inputs before it have run.",
        (_EVALUATING, "-k", "before_anything_runs"),
    ),
    Mutation(
        "reports.resumed-data-are-not-compared",
        "reports/evaluating.py",
        "if batch is None or len(batch.labels) != count or batch.digest != chunk.digest:",
        "if batch is None or len(batch.labels) != count:",
        "An evaluation goes on with other data.",
        (_EVALUATING, "-k", "something_else"),
    ),
    Mutation(
        "reports.line-without-its-end-stays",
        "reports/evaluation_log.py",
        "self._cut(len(data) - len(rest))",
        "self._path.touch()",
        "A line that was cut off is joined with the next one.",
        (_EVALUATING, "-k", "cut_off"),
    ),
    Mutation(
        "arrays.pixels-are-taken-as-numbers",
        "arrays/rows.py",
        "return quantized_pixels(graph, tensor, shaped.astype(np.uint8))",
        "return quantize_real(tensor, shaped.astype(np.float32))",
        "Pixels in an archive mean something else than those in image files.",
        (_DATASET, "-k", "shipped"),
    ),
)
