"""Variables that importers add to a graph."""

import numpy as np

from kibi.dtypes import DType
from kibi.frontends.tflite.importers import Importer, TensorTable
from kibi.frontends.tflite.importers.base import Memory
from kibi.ir import Operator, Tensor, TensorType
from kibi.ops import Add, CircularBuffer

_TYPE = TensorType((1, 6), DType.S8)


def _table() -> TensorTable:
    return TensorTable({index: Tensor(index, f"tensor_{index}", _TYPE) for index in range(3)}, 5)


def _memory(op: Operator, inputs: object, outputs: object) -> list[Memory]:
    del op, inputs, outputs
    return [Memory("input2", _TYPE, np.arange(6, dtype=np.int8).reshape(1, 6))]


def test_memory_is_a_variable_behind_the_tensors_of_the_file() -> None:
    """It stands at its place among the operator's inputs, with its first elements."""
    table = _table()
    (node,) = Importer(lambda _: Add(), memories=_memory).nodes(Add(), (0,), (2,), 7, table)
    assert node.inputs == (0, 5)
    assert table.count == 6
    added = table.tensors[5]
    assert (added.index, added.is_variable, added.initial_bytes) == (5, True, bytes(range(6)))
    assert added.name == "input2 of operator 7 (ADD)"


def test_memory_where_the_file_has_an_input_is_refused() -> None:
    """More inputs than the file's operator has are no states."""
    importer = Importer(lambda _: CircularBuffer(1), memories=_memory, remembers="memory")
    assert importer.arity_problem(CircularBuffer(1), 1, 1) == ""
    assert "takes input and gives output; here are 2 inputs" in importer.arity_problem(CircularBuffer(1), 2, 1)
