"""Tensors off the chip."""

from pathlib import Path

import numpy as np
import pytest

from kibi.dtypes import DType
from kibi.eager.context import Context
from kibi.eager.tensors import FileTensor
from kibi.errors import EventError, InputError
from kibi.ir import TensorType
from tests.runtime.tensors.places import FAST

MATRIX = TensorType((3, 4), DType.S16)
VALUES = np.arange(12, dtype=np.int16).reshape(3, 4)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file with a header in front of the values."""
    path = tmp_path / "flash.bin"
    path.write_bytes(b"head" + VALUES.astype("<i2").tobytes())
    return path


def test_file_tensor_reads_where_its_data_begins(path: Path) -> None:
    """Elements and rows come from the file; nothing of it takes RAM."""
    context = Context(1024, 1024)
    with FileTensor(MATRIX, path, offset=4, context=context) as tensor:
        assert np.array_equal(tensor.to_array(), VALUES)
        assert tensor[2, 1] == 9
        assert context.ram.available() == 1024
        assert tensor.metadata_bytes == 16 + 24
        with pytest.raises(EventError, match="ReadOnlyTensor"):
            tensor[0] = 1
        with pytest.raises(EventError, match="DirectAccessRefused"), tensor.direct(FAST):
            pass
    with pytest.raises(EventError, match="TensorFreed"):
        tensor.row(0)
    tensor.free()


def test_file_tensor_writes_through(path: Path) -> None:
    """What is written is in the file when the tensor is freed; the header is left alone."""
    with FileTensor(MATRIX, path, offset=4, writable=True, context=Context(1024, 1024)) as tensor:
        tensor[0, 1] = -2
        tensor[2, 3].u16 = 0x1234
    data = path.read_bytes()
    assert data[:4] == b"head"
    assert np.frombuffer(data[4:], "<i2").tolist() == [0, -2, 2, 3, 4, 5, 6, 7, 8, 9, 10, 0x1234]


def test_file_that_cannot_be_mapped_is_refused(path: Path, tmp_path: Path) -> None:
    """Missing, too short, before its start: nothing is left behind."""
    context = Context(1024, 1024)
    with pytest.raises(InputError, match="missing"):
        FileTensor(MATRIX, tmp_path / "missing", context=context)
    for offset in (5, -1):
        with pytest.raises(InputError, match="28 bytes"):
            FileTensor(MATRIX, path, offset=offset, context=context)
    assert context.metadata.available() == 1024
