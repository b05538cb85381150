"""What opens is a plan file of this version for this core; everything else is refused with a status, and the model stays closed."""

import hashlib

import numpy as np
import pytest

import kibi
from kibi.engines.core import CoreEngine
from kibi.errors import InputError, PlanError
from kibi.planfile.reader import PlanFile
from kibi.planfile.records import DIGEST_BYTES, HEADER
from tests.ops.comparison import graph_of
from tests.support.choices import Seeded
from tests.support.operator_models import OPERATOR_MODELS


@pytest.fixture(scope="module")
def data() -> bytes:
    """A plan file."""
    return kibi.compile_plan(graph_of(OPERATOR_MODELS["ABS"](Seeded(3)))).data


def _changed(data: bytes, name: str, value: int) -> bytes:
    """The file with another number in its header, and the digest that it should have then."""
    field = next(each for each in HEADER.fields if each.name == name)
    place = HEADER.offsets[name]
    body = data[:place] + value.to_bytes(field.size_bytes, "little") + data[place + field.size_bytes : -DIGEST_BYTES]
    return body + hashlib.sha256(body).digest()


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("magic", 5, "no plan file"),
        ("version", 1, "of format 1"),
        ("version", 0x100, "of format 256"),  # as a file of another byte order has it
        ("required", 4, "with features 0x4"),
        ("file_bytes", 64, "says that it has 64"),
        ("file_bytes", 1 << 30, "it was cut"),
    ],
)
def test_reader_refuses_other_files(data: bytes, name: str, value: int, text: str) -> None:
    """Python says what is wrong."""
    with pytest.raises(PlanError, match=text):
        PlanFile(_changed(data, name, value))


@pytest.mark.parametrize("place", [0, 4, 60, -1, -40])
def test_damage_is_found(data: bytes, place: int) -> None:
    """One changed bit anywhere ends in a refusal."""
    damaged = bytearray(data)
    damaged[place] ^= 16
    with pytest.raises(PlanError):
        PlanFile(bytes(damaged))


@pytest.mark.parametrize("count", [0, 3, HEADER.size_bytes, -1])
def test_cut_file_is_refused(data: bytes, count: int) -> None:
    """A download that stopped is no file."""
    with pytest.raises(PlanError):
        PlanFile(data[:count])


@pytest.mark.parametrize(
    "name", ["arena_alignment", "graphs", "ports", "kernels", "variables", "externals", "graph_count", "alignment"]
)
def test_core_refuses_what_the_reader_does_not_see(data: bytes, name: str) -> None:
    """Numbers that a reader does not need are checked by the core."""
    with pytest.raises(PlanError):
        CoreEngine(PlanFile(_changed(data, name, 0xF7 if name == "arena_alignment" else 0xFFF7)))


def test_wrong_inputs_are_explained(data: bytes) -> None:
    """Inputs of another number, shape or type end in an error that says what was expected."""
    opened = kibi.open_plan(data)
    port = opened.file.inputs[0]
    right = np.zeros(port.shape, port.dtype.numpy)
    assert opened.run([right])[0].shape == opened.file.outputs[0].shape
    for wrong in ([], [right, right], [right.reshape(-1)[:-1]], [right.astype(np.float64)]):
        with pytest.raises(InputError):
            opened.run(wrong)


def test_core_of_other_kernels_is_no_core_for_the_file(data: bytes) -> None:
    """A file whose kernel is missing is refused."""
    with pytest.raises(PlanError, match="-17"):
        CoreEngine(PlanFile(data), kernels=["kibi_softmax_s8"])
