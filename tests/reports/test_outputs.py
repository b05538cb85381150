"""What comes out of a model is described as what it is."""

from pathlib import Path

import numpy as np
import pytest

from kibi.dtypes import DType
from kibi.errors import InputError
from kibi.frontends.tflite import parse_tflite
from kibi.frontends.tflite.builder import ModelBuilder
from kibi.ir import Graph
from kibi.reports.outputs import describe_outputs, is_classifier, read_labels


def _graph(shape: list[int], flat: list[int]) -> Graph:
    """A reshape from one shape to another."""
    builder = ModelBuilder()
    x = builder.input(shape, DType.S8, 0.5, -1)
    target = builder.constant(np.array(flat, np.int32))
    y = builder.tensor(flat, DType.S8, 0.5, -1)
    builder.operator("RESHAPE", [x, target], [y])
    return parse_tflite(builder.finish(outputs=[y]), "m.tflite")


def test_describe_outputs_of_a_classifier_ranks_its_classes() -> None:
    """Real scores, best first; of equal scores the first class wins."""
    graph = _graph([2, 3], [1, 6])
    stored = np.array([[3, 9, -1, 9, 0, -128]], np.int8)
    top = describe_outputs(graph, [stored])[0].top
    assert [(score.index, score.label, score.score, score.stored) for score in top] == [
        *((1, "1", 5.0, 9), (3, "3", 5.0, 9), (0, "0", 2.0, 3), (4, "4", 0.5, 0), (2, "2", 0.0, -1))
    ]


def test_describe_outputs_gives_statistics_of_real_values() -> None:
    """In the output's scale."""
    facts = describe_outputs(_graph([2, 3], [3, 2]), [np.array([[-1, 1], [-1, 1], [-1, 1]], np.int8)])[0]
    assert (facts.least, facts.mean, facts.largest, facts.deviation) == (0.0, 0.5, 1.0, 0.5)
    assert facts.top == ()


@pytest.mark.parametrize(
    ("shape", "flat", "expected"),
    [
        ([2, 3], [1, 6], True),
        ([2, 3], [6], True),
        ([2, 3], [3, 2], False),
        ([1, 6], [1, 6], False),
        ([1, 1], [1], False),
    ],
)
def test_is_classifier_takes_vectors_alone(shape: list[int], flat: list[int], *, expected: bool) -> None:
    """No image, no single number, and no copy of the input's shape."""
    assert is_classifier(_graph(shape, flat)) is expected


def test_describe_outputs_with_labels_of_another_number_is_refused() -> None:
    """The error has both numbers."""
    with pytest.raises(InputError, match="2 labels for outputs of 6"):
        describe_outputs(_graph([2, 3], [1, 6]), [np.zeros((1, 6), np.int8)], ["a", "b"])


def test_read_labels_takes_lines(tmp_path: Path) -> None:
    """Blank lines at the end are none; a file that is no text is refused."""
    path = tmp_path / "labels.txt"
    path.write_text("yes\n no \n\nunknown\n\n\n")
    assert read_labels(path) == ("yes", "no", "", "unknown")
    path.write_bytes(b"\x80\xfe\x00")
    with pytest.raises(InputError, match="no text"):
        read_labels(path)
    with pytest.raises(InputError, match="No such file"):
        read_labels(tmp_path / "absent.txt")
