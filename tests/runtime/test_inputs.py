"""Inputs from a seed, and inputs of the caller's: what is drawn, what is taken, what is refused."""

import hashlib
from collections.abc import Iterator

import numpy as np
import pytest

import kibi
from kibi.dtypes import Array, DType
from kibi.errors import InputError
from kibi.ir import Graph, Tensor, TensorType
from kibi.runtime import check_inputs, inputs, quantize_real, seeded_inputs
from tests.engines.networks import residual_network
from tests.support import hostile

_SHAPE = (2, 5, 3)
_RECORDED = {
    DType.S8: "3b113419179546d9",
    DType.U8: "c4c662ff5bb4d8f9",
    DType.S16: "80e6018a46b6bac5",
    DType.S32: "2260cc5b0db505d2",
    DType.U32: "154f8dd6cdb31d2c",
    DType.S64: "b68b5c0e2617382d",
    DType.F32: "b38819c0869270c7",
}
"""What two arrays of seed 4 hash to: recorded figures depend on these values."""


def _graph(*kinds: TensorType) -> Graph:
    """A graph with inputs of these types and nothing else."""
    tensors = tuple(Tensor(number, f"input_{number}", kind) for number, kind in enumerate(kinds))
    return Graph("drawn", "drawn.tflite", tensors, (), tuple(range(len(kinds))), ())


@pytest.mark.parametrize("dtype", DType)
def test_seeded_input_of_each_type_has_its_shape_and_fills_its_range(dtype: DType) -> None:
    """Lowest and highest quarters of an integer's range, both signs of a float, both booleans; a new type fails here first."""
    (drawn,) = seeded_inputs(_graph(TensorType((50, 40), dtype)), 1)
    assert (drawn.shape, drawn.dtype) == ((50, 40), dtype.numpy)
    if dtype.is_integer:
        low, high = dtype.limits
        quarter = (high - low + 1) // 4
        assert low <= int(drawn.min()) < low + quarter
        assert high - quarter < int(drawn.max()) <= high
    elif dtype is DType.BOOL:
        assert 800 < np.count_nonzero(drawn) < 1200
    else:
        assert dtype is DType.F32
        assert np.isfinite(drawn).all()
        assert abs(float(drawn.mean())) < 0.1
        assert 0.9 < float(drawn.std()) < 1.1


@pytest.mark.parametrize(("dtype", "digest"), _RECORDED.items(), ids=str)
@pytest.mark.parametrize("together", [1 << 20, 7])
def test_seeded_input_has_the_values_that_figures_were_recorded_for(
    dtype: DType, digest: str, together: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same on every machine and in every version, in however many pieces they are drawn."""
    monkeypatch.setattr(inputs, "_DRAWN_TOGETHER", together)
    kind = TensorType(_SHAPE, dtype)
    data = b"".join(array.tobytes() for array in seeded_inputs(_graph(kind, kind), 4))
    assert hashlib.sha256(data).hexdigest()[:16] == digest


def test_seeded_boolean_is_true_for_one_of_two_neighbouring_seeds() -> None:
    """Whatever the first seed, a condition comes out both ways within three, and two conditions in all four ways some time."""
    graph = _graph(TensorType((1,), DType.BOOL), TensorType((), DType.BOOL))
    drawn = [tuple(bool(array.any()) for array in seeded_inputs(graph, seed)) for seed in range(40)]
    for first in range(0, 40, 2):
        assert drawn[first] == tuple(not value for value in drawn[first + 1])
    assert len(set(drawn)) == 4


@pytest.mark.parametrize("seed", [-1, 0.5, None, "1", True])
def test_seed_that_is_none_is_refused(seed: object) -> None:
    """The error says what a seed is."""
    with pytest.raises(InputError, match="the seed is"):
        seeded_inputs(_graph(), seed)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["1000052", "1000089", "1000201", "1004322", "1004344"])
def test_file_with_inputs_of_64_bits_runs(name: str) -> None:
    """The files whose inputs could once not be drawn."""
    graph = kibi.load(hostile.path(f"valueerror_run_{name}.tflite"))
    assert kibi.run(graph, None, seeded_inputs(graph, 0))


def _endless() -> Iterator[Array]:
    while True:
        yield np.zeros(1, np.int8)


@pytest.mark.parametrize(
    "given",
    [None, 5, _endless(), map(abs, [1]), object(), {"input": 1}, "x", [None], [_endless()], [[[1], [1, 2]]], [{}]],
    ids=lambda given: type(given).__name__,
)
def test_inputs_that_are_no_list_of_arrays_are_refused(given: object) -> None:
    """Nothing is taken from what may have no end, and what NumPy makes no array of is named."""
    with pytest.raises(InputError):
        kibi.run(residual_network(), None, given)  # type: ignore[arg-type]


@pytest.mark.parametrize("row", [None, _endless(), [[1], [1, 2]], "x"], ids=lambda row: type(row).__name__)
def test_row_that_is_no_array_is_refused(row: object) -> None:
    """And the row that was expected still is."""
    graph = residual_network()
    interpreter = kibi.Interpreter(graph, kibi.plan(graph, input="streamed"))
    with pytest.raises(InputError, match="a row of input 0"):
        interpreter.push_row(row)  # type: ignore[arg-type]
    assert interpreter.expected_row == (0, 0)


def test_booleans_that_are_neither_0_nor_1_count_as_true() -> None:
    """A view of bytes may hold anything; C is given what it takes for a boolean."""
    graph = _graph(TensorType((3,), DType.BOOL))
    (checked,) = check_inputs(graph, [np.array([0, 2, 255], np.uint8).view(np.bool_)])
    assert checked.view(np.uint8).tolist() == [0, 1, 1]


def test_memory_that_this_machine_has_not_is_an_error_with_its_size() -> None:
    """A model's inputs of a petabyte, and what runs out in the middle of a run: the bytes that were wanted are in the text."""
    with pytest.raises(InputError, match=r"drawn\.tflite: .* no room for another 1,125,899,906,842,624 bytes"):
        seeded_inputs(_graph(TensorType((1 << 50,), DType.S8)), 0)

    def look(index: int, array: Array) -> None:
        del index, array
        np.zeros((1 << 30, 1 << 20), np.float32)

    graph = residual_network()
    with pytest.raises(InputError, match="no room for another 4,503,599,627,370,496 bytes"):
        kibi.Interpreter(graph).run(seeded_inputs(graph, 0), look)


def test_infinite_and_huge_real_values_become_the_ends_without_a_warning() -> None:
    """Warnings of NumPy are errors in some programs; what is beyond the range is clipped."""
    tensor = residual_network().tensors[0]
    values = np.array([np.inf, -np.inf, 1e300, -1e300])
    with np.errstate(all="raise"):
        assert quantize_real(tensor, values).tolist() == [127, -128, 127, -128]
