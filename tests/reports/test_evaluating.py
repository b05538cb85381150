"""Evaluations: figures by hand on models whose outputs are their inputs, and those of real models."""

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import kibi
from kibi import demo
from kibi.dtypes import Array, DType
from kibi.errors import DataWarning, InputError
from kibi.frontends.tflite.builder import ModelBuilder
from kibi.ir import Graph
from kibi.reports.evaluation import Evaluation
from tests.engines.counting import counting_bytes
from tests.engines.early_ending import DEPTH, early_ending_model
from tests.reports.evaluated import CLASSES, CLASSIFIER, GLYPHS, SCORES, loaded, same, saved
from tests.support.zoo import requires_zoo, zoo_path

SAMPLES = Path(demo.__file__).with_name("samples.npz")


def _twice() -> Graph:
    """The sum of four floats with themselves."""
    builder = ModelBuilder()
    x = builder.input([1, 4], DType.F32, name="x")
    y = builder.tensor([1, 4], DType.F32, name="y")
    builder.operator("ADD", [x, x], [y], {"fused_activation_function": "NONE"})
    return loaded(builder, [y])


def test_classifier_by_hand(tmp_path: Path) -> None:
    """Accuracy, confusion, figures of each class, the worst inputs."""
    found = kibi.evaluate(CLASSIFIER, saved(tmp_path, x=SCORES, y=CLASSES), worst_count=3, workers=1)
    assert (found.inputs, found.total, found.is_complete, found.without_outputs) == (8, 8, True, 0)
    made = found.classification
    assert made is not None
    assert (made.labelled, made.right, made.accuracy) == (8, 5, 0.625)
    assert made.confusion == ((2, 0, 0, 0), (2, 1, 0, 0), (1, 0, 2, 0))
    assert [(each.label, each.inputs, each.answers, each.right) for each in made.classes] == [
        ("0", 2, 5, 2), ("1", 3, 1, 1), ("2", 3, 2, 2)
    ]  # fmt: skip
    assert found.worst_by == "score of the label minus the best other one"
    assert [(each.number, each.label, each.answer, each.figure) for each in found.worst] == [
        (4, "2", "0", -3), (1, "1", "0", -2), (6, "1", "0", 0)
    ]  # fmt: skip
    assert (found.detection, found.comparison, found.warnings) == (None, None, ())
    record = json.loads(json.dumps(found.to_dict()))
    assert record["classification"]["accuracy"] == 0.625
    assert record["classification"]["classes"][1]["recall"] == pytest.approx(1 / 3)


def test_scores_that_are_no_numbers_are_no_answers() -> None:
    """They count as wrong; the model made them of numbers."""
    builder = ModelBuilder()
    x = builder.input([1, 3, 1], DType.F32, name="x")
    flat, y = (builder.tensor([1, 3], DType.F32, name=name) for name in ("flat", "y"))
    builder.operator("RESHAPE", [x], [flat], {"new_shape": np.array([1, 3], np.int32)})
    builder.operator("SUB", [flat, flat], [y], {"fused_activation_function": "NONE"})
    found = kibi.evaluate(loaded(builder, [y]), lambda: iter([(SCORES[7], 0), (SCORES[0], 0)]), workers=1)
    assert found.classification is not None
    assert found.classification.confusion[0] == (1, 0, 0, 1)


def test_names_of_classes_and_missing_labels(tmp_path: Path) -> None:
    """Names by a list, labels by name; inputs without a label count among the answers of no class."""
    names = ["cat", "dog", "cow"]
    items = [(SCORES[0], "cat"), (SCORES[1], 1), SCORES[2], (SCORES[3], "cow")]
    found = kibi.evaluate(CLASSIFIER, lambda: iter(items), labels=names, workers=1)
    assert found.total is None
    assert found.classification is not None
    assert (found.classification.labelled, found.classification.right) == (3, 2)
    assert [each.label for each in found.classification.classes] == names
    assert [each.label for each in found.worst] == ["dog", "cat", "cow"]
    unlabelled = kibi.evaluate(CLASSIFIER, saved(tmp_path, x=SCORES), workers=1, worst_count=1)
    assert unlabelled.classification is not None
    assert unlabelled.classification.accuracy is None
    assert [each.answers for each in unlabelled.classification.classes] == [5, 1, 2]
    assert (unlabelled.worst_by, unlabelled.worst[0].number) == ("best score minus the second", 6)


def test_folders_are_classes_in_the_order_of_their_names(tmp_path: Path) -> None:
    """If there are as many; folders with the names of labels or with numbers need not be all."""
    for name, values in (("a", SCORES[0]), ("b", SCORES[2]), ("c", SCORES[0])):
        (tmp_path / "three" / name).mkdir(parents=True)
        np.save(tmp_path / "three" / name / "x.npy", values)
    found = kibi.evaluate(CLASSIFIER, tmp_path / "three", workers=1)
    assert found.classification is not None
    assert [each.label for each in found.classification.classes] == ["a", "b", "c"]
    assert found.classification.confusion == ((1, 0, 0, 0), (0, 1, 0, 0), (1, 0, 0, 0))
    assert [each.name for each in found.worst] == ["c/x.npy", "a/x.npy", "b/x.npy"]
    named = kibi.evaluate(CLASSIFIER, tmp_path / "three", labels=["c", "b", "a"], workers=1)
    assert named.classification is not None
    assert named.classification.confusion == ((1, 0, 0, 0), (0, 1, 0, 0), (1, 0, 0, 0))
    for name in ("0", "2"):
        (tmp_path / "two" / name).mkdir(parents=True)
        np.save(tmp_path / "two" / name / "x.npy", SCORES[0])
    numbered = kibi.evaluate(CLASSIFIER, tmp_path / "two", workers=1)
    assert numbered.classification is not None
    assert numbered.classification.confusion == ((1, 0, 0, 0), (0, 0, 0, 0), (1, 0, 0, 0))
    (tmp_path / "two" / "2").rename(tmp_path / "two" / "cat")
    with pytest.raises(InputError, match=r"nothing says which class 'cat' is. Give --labels"):
        kibi.evaluate(CLASSIFIER, tmp_path / "two")


def test_detector_by_hand(tmp_path: Path) -> None:
    """The score is the one output: which pairs are in order, and which inputs are on the wrong side of the best threshold."""
    path = saved(tmp_path, x=np.array([[1], [5], [2], [6], [7]], np.float32), y=np.array([0, 0, 1, 1, 1]))
    found = kibi.evaluate(same([1, 1], [1, 1]), path, workers=1, worst_count=2)
    made = found.detection
    assert made is not None
    assert (made.score, made.normal, made.anomalous) == ("output", 2, 3)
    assert [made.auc, made.mean_normal, made.mean_anomalous, made.mean] == pytest.approx([5 / 6, 3, 5, 4.2])
    assert made.threshold is not None
    assert made.threshold.score == 6
    assert [(each.number, each.figure) for each in found.worst] == [(2, 4), (3, 0)]
    assert found.classification is None


def test_reconstruction_by_hand(tmp_path: Path) -> None:
    """Twice x differs from x by x, so that the score is the mean square of x."""
    values = np.array([[1, 1, 1, 1], [2, 0, 0, 0], [0, 0, 0, 0]], np.float32)
    found = kibi.evaluate(_twice(), saved(tmp_path, x=values, y=np.array([1, 1, 0])), workers=1)
    assert found.detection is not None
    assert (found.detection.score, found.detection.auc) == ("reconstruction", 1.0)
    assert (found.detection.mean_normal, found.detection.mean_anomalous) == (0, 1)


def test_windows_of_one_input_share_a_score(tmp_path: Path) -> None:
    """Their mean; each input of three windows counts once, and what is left by an interruption does not count."""
    values = np.array([[1], [2], [6], [0], [0], [3], [5], [0], [1]], np.float32)
    path, graph = saved(tmp_path, x=values, y=np.repeat([1, 0, 1], 3)), same([1, 1], [1, 1])
    made = kibi.evaluate(graph, path, windows=3, workers=1).detection
    assert made is not None
    assert (made.normal, made.anomalous, made.auc) == (1, 2, 1)
    assert [made.mean_normal, made.mean_anomalous] == pytest.approx([1, 2.5])
    different = "inputs 0 to 8 are windows of one, and have different labels"
    for windows, expected in ((2, "9 inputs, and 2 are windows of one"), (9, different)):
        with pytest.raises(InputError, match=expected):
            kibi.evaluate(graph, path, windows=windows, workers=1)

    def interrupt(done: int, total: int | None) -> None:
        assert total == 9
        if done == 4:
            raise KeyboardInterrupt

    part = kibi.evaluate(graph, path, windows=3, workers=1, watch=interrupt).detection
    assert part is not None
    assert (part.normal, part.anomalous) == (0, 1)


def test_score_of_a_class_by_hand(tmp_path: Path) -> None:
    """A classifier is a detector if one of its classes is the anomaly."""
    path = saved(tmp_path, x=SCORES, y=(CLASSES == 2).astype(np.int8))
    found = kibi.evaluate(CLASSIFIER, path, score="class:2", workers=1)
    assert found.detection is not None
    scores = SCORES[:, 2]
    pairs = [float(a > b) + 0.5 * float(a == b) for a in scores[CLASSES == 2] for b in scores[CLASSES != 2]]
    assert found.detection.auc == pytest.approx(sum(pairs) / len(pairs))
    assert found.classification is None


def test_comparison_with_a_float_model_by_hand(tmp_path: Path) -> None:
    """Real values that the integers of the model hold only nearly: the differences are those of quantization."""
    values = np.array([[0.2, -0.26, 1.0], [0.9, 0.1, -0.6], [0, 0, 0]], np.float32).reshape(3, 1, 3, 1)
    quantized = same([1, 3, 1], [1, 3], DType.S8, 0.5)
    stored = np.array([[0, -0.5, 1.0], [1, 0, -0.5], [0, 0, 0]])
    with pytest.warns(DataWarning, match="normalised twice"):
        found = kibi.evaluate(quantized, saved(tmp_path, x=values), reference=CLASSIFIER, workers=1)
    real = values.reshape(3, 3).astype(np.float64)
    made = found.comparison
    assert made is not None
    assert made.rmse == pytest.approx(np.sqrt(np.square(stored - real).mean()), abs=1e-6)
    cosines = [a @ b / np.linalg.norm(a) / np.linalg.norm(b) for a, b in zip(stored[:2], real[:2], strict=True)]
    assert made.cosine == pytest.approx(np.mean(cosines), abs=1e-6)
    assert made.least_cosine == pytest.approx(min(cosines), abs=1e-6)
    assert made.same_answer == 1
    assert found.worst_by == "squared difference from the reference"
    assert [each.number for each in found.worst] == np.argsort(-np.square(stored - real).sum(1), kind="stable").tolist()
    integers = kibi.evaluate(
        quantized, saved(tmp_path, x=(stored * 2).astype(np.int8)), reference=CLASSIFIER, workers=1
    )
    assert integers.comparison is not None
    assert [integers.comparison.rmse, integers.comparison.least_cosine] == pytest.approx([0, 1])


def test_shipped_model_reads_its_samples(tmp_path: Path) -> None:
    """All of them, and its worst one is written as the picture that it was."""
    found = kibi.evaluate(GLYPHS, SAMPLES, worst=tmp_path / "worst", worst_count=2)
    assert found.classification is not None
    assert found.classification.accuracy == 1
    first = found.worst[0]
    assert first.file == f"01-input-{first.number}.png"
    picture = np.asarray(Image.open(tmp_path / "worst" / first.file))
    np.testing.assert_array_equal(picture[::4, ::4], demo.samples()[0][first.number])
    listed = json.loads((tmp_path / "worst" / "worst.json").read_text())
    assert [each["file"] for each in listed] == [each.file for each in found.worst]
    assert {path.name for path in (tmp_path / "worst").iterdir()} == {"worst.json", *(each["file"] for each in listed)}


def test_worst_inputs_replace_those_of_an_earlier_evaluation(tmp_path: Path) -> None:
    """Other files stay; and so do files with such names, if there is no list of theirs."""
    folder = tmp_path / "worst"
    folder.mkdir()
    for name in ("notes.txt", "01-input-x.npy", "07-input-99.npy"):
        (folder / name).write_text("mine")
    path = saved(tmp_path, x=SCORES, y=CLASSES)
    kibi.evaluate(CLASSIFIER, path, worst=folder, worst_count=3, workers=1)
    assert (folder / "07-input-99.npy").exists()
    kibi.evaluate(CLASSIFIER, path, worst=folder, worst_count=1, workers=1)
    assert {each.name for each in folder.iterdir()} == {"notes.txt", "01-input-x.npy", "01-input-4.npy", "worst.json"}


def test_worst_inputs_that_are_no_pictures_are_arrays(tmp_path: Path) -> None:
    """Of the type that the model takes."""
    kibi.evaluate(CLASSIFIER, saved(tmp_path, x=SCORES, y=CLASSES), worst=tmp_path / "worst", worst_count=1, workers=1)
    np.testing.assert_array_equal(np.load(tmp_path / "worst" / "01-input-4.npy").reshape(-1), SCORES[4])


def test_independent_inputs_and_sequences(tmp_path: Path) -> None:
    """Variables have their first values for each input, or keep those of the input before."""
    (tmp_path / "counting.tflite").write_bytes(counting_bytes([1, 2]))
    graph, path = kibi.load(tmp_path / "counting.tflite"), saved(tmp_path, x=np.array([[1, 2]] * 9, np.int8))
    for keep_state, mean in ((False, 2), (True, 2 * (1 + 9) / 2)):
        found = kibi.evaluate(graph, path, keep_state=keep_state, workers=2, score="class:1")
        assert found.detection is not None
        assert found.detection.mean == mean


def test_inferences_that_end_early_are_counted_apart(tmp_path: Path) -> None:
    """In a sequence the sixth one of eight has outputs; the mean score is its own."""
    (tmp_path / "stream.tflite").write_bytes(early_ending_model())
    graph = kibi.load(tmp_path / "stream.tflite")
    values = np.random.default_rng(0).integers(-128, 128, (8, 1, 1, 1, DEPTH)).astype(np.int8)
    interpreter = kibi.Interpreter(graph)
    outputs = [interpreter.run([each]) for each in values]
    real = [(each[0].reshape(-1)[2] - 3) * 0.5 for each in outputs if each]
    found = kibi.evaluate(graph, saved(tmp_path, x=values), score="class:2", keep_state=True)
    assert (found.inputs, found.without_outputs) == (8, outputs.count([]))
    assert found.detection is not None
    assert found.detection.mean == pytest.approx(np.mean(real))
    assert [each.number for each in found.worst] == [number for number, each in enumerate(outputs) if each]


def test_model_with_outputs_of_no_meaning_needs_a_reference(tmp_path: Path) -> None:
    """Two outputs are neither classes nor a score; beside another model they can be compared."""
    builder = ModelBuilder()
    x = builder.input([1, 4], DType.F32, name="x")
    y, z = (builder.tensor([1, 4], DType.F32, name=name) for name in "yz")
    builder.operator("ADD", [x, x], [y], {"fused_activation_function": "NONE"})
    builder.operator("MUL", [x, x], [z], {"fused_activation_function": "NONE"})
    graph, path = loaded(builder, [y, z]), saved(tmp_path, x=np.ones((3, 4), np.float32))
    with pytest.raises(InputError, match="neither classes nor a score"):
        kibi.evaluate(graph, path)
    found = kibi.evaluate(graph, path, reference=graph, workers=1)
    assert found.comparison is not None
    assert [found.comparison.rmse, found.comparison.cosine] == pytest.approx([0, 1])
    assert found.comparison.same_answer is None


def test_values_that_look_as_if_not_normalised_warn(tmp_path: Path) -> None:
    """The result says so, too."""
    images, labels = demo.samples()
    path = saved(tmp_path, x=images.astype(np.float32), y=labels)
    with pytest.warns(DataWarning, match="look as if they were not normalised"):
        found = kibi.evaluate(GLYPHS, path, workers=1)
    assert len(found.warnings) == 1


def test_most_inputs_and_progress() -> None:
    """Of data that never end, too."""

    def endless() -> Iterator[Array]:
        while True:
            yield SCORES[0]

    told: list[tuple[int, int | None]] = []
    found = kibi.evaluate(CLASSIFIER, endless, most=11, watch=lambda done, total: told.append((done, total)), workers=1)
    assert (found.inputs, found.total, found.is_complete) == (11, None, True)
    assert told[-1] == (11, 11)


@requires_zoo
def test_error_of_reconstruction_is_that_of_the_benchmark(tmp_path: Path) -> None:
    """MLPerf's anomaly detection on the windows of a sound: the mean error, which others computed from TFLM's outputs."""
    inputs = zoo_path() / "inputs"
    frames = np.fromfile(inputs / "mlperf_ad" / "normal_id_01_00000000_hist_librosa.f32.bin", np.float32).reshape(
        -1, 128
    )
    windows = np.stack([frames[start : start + 5].reshape(-1) for start in range(len(frames) - 4)])
    graph = kibi.simplify(kibi.load(zoo_path() / "models" / "mlperf_ad_int8.tflite"))
    found = kibi.evaluate(graph, saved(tmp_path, x=windows))
    expected = json.loads((inputs / "expected.json").read_text())["mlperf_ad_int8 on normal_id_01 (196 windows)"]
    assert found.inputs == expected["windows"]
    assert found.detection is not None
    assert found.detection.mean == pytest.approx(expected["mean_mse"], rel=1e-6)


@pytest.mark.slow
@requires_zoo
def test_real_models_beside_their_float_versions(tmp_path: Path) -> None:
    """Each kind of figure, and that of the float model beside itself."""
    random = np.random.default_rng(0)
    graph, other = (
        kibi.simplify(kibi.load(zoo_path() / "models" / f"mlperf_ad_{kind}.tflite")) for kind in ("int8", "fp32")
    )
    path = saved(tmp_path, x=random.normal(0, 5, (12, 640)).astype(np.float32), y=random.integers(0, 2, 12))

    def figures(model: Graph) -> Evaluation:
        return kibi.evaluate(model, path, reference=other)

    quantized, same = figures(graph), figures(other)
    assert quantized.detection is not None
    assert quantized.detection.score == "reconstruction"
    assert quantized.detection.auc is not None
    assert quantized.comparison is not None
    assert quantized.comparison.rmse > 0
    assert same.comparison is not None
    assert [same.comparison.rmse, same.comparison.cosine] == pytest.approx([0, 1])
