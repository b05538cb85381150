"""Outputs become files."""

import zipfile
from io import BytesIO

import numpy as np
import pytest

from kibi.arrays.output_files import output_bytes, output_names
from kibi.dtypes import DType
from kibi.errors import InputError
from kibi.frontends.tflite import parse_tflite
from kibi.frontends.tflite.builder import ModelBuilder
from kibi.ir import Graph

ARRAYS = [np.array([[1, 2, 3]], np.int8), np.array([[4, 5, 6]], np.int8)]


def _graph(*names: str) -> Graph:
    """A model with an output of each name."""
    builder = ModelBuilder()
    x = builder.input([1, 3], DType.S8, 0.1, 0)
    outputs = [builder.tensor([1, 3], DType.S8, 0.1, 0, name=name) for name in names]
    for output in outputs:
        builder.operator("RELU", [x], [output])
    return parse_tflite(builder.finish(outputs=outputs), "m.tflite")


def test_output_bytes_of_several_outputs_need_an_archive() -> None:
    """Other forms hold one."""
    graph = _graph("a", "b")
    with np.load(BytesIO(output_bytes(graph, ARRAYS, ".NPZ"))) as archive:
        assert {name: archive[name].tolist() for name in archive.files} == {"a": [[1, 2, 3]], "b": [[4, 5, 6]]}
    for suffix in (".npy", ".bin", ""):
        with pytest.raises(InputError, match=r"2 outputs.*\.npz"):
            output_bytes(graph, ARRAYS, suffix)


def test_output_bytes_are_the_same_each_time() -> None:
    """No time of day gets into an archive."""
    data = output_bytes(_graph("a"), ARRAYS[:1], ".npz")
    with zipfile.ZipFile(BytesIO(data)) as archive:
        assert {member.date_time for member in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
    assert output_bytes(_graph("a"), ARRAYS[:1], ".bin") == bytes([1, 2, 3])


@pytest.mark.parametrize("names", [("a", "a"), ("file", "b"), ("../../x", "b"), ("/etc/x", "b")])
def test_output_names_that_no_archive_should_hold_become_numbers(names: tuple[str, str]) -> None:
    """Twice the same, a parameter of NumPy's own, out of the folder that somebody extracts into."""
    assert output_names(_graph(*names)) == ("output_0", "output_1")
