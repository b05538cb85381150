"""Options of custom operators: they become attributes, or an importer reads them."""

from dataclasses import dataclass
from typing import Any, ClassVar

import pytest

from kibi import ops
from kibi.ir import Operator, OperatorError
from kibi.ops import CustomOptions
from tests.ops.custom.motion import (
    CODE,
    FrameDifference,
    flex,
    motion_graph,
    problem_of,
)


@pytest.mark.usefixtures("registered")
def test_options_become_attributes() -> None:
    """A flexbuffer map gives attributes by name; what a model leaves out has its default."""
    assert motion_graph(flex({"threshold": 7})).nodes[0].op == FrameDifference(threshold=7)
    assert motion_graph(flex({})).nodes[0].op == motion_graph().nodes[0].op == FrameDifference(threshold=0)
    assert "its options have gain, but its attributes are: threshold" in problem_of(flex({"gain": 2}))
    assert "not a map" in problem_of(flex([1, 2]))
    assert "its options are no sound flexbuffer" in problem_of(b"\xff\xff\xff\xff")
    assert "threshold is 256, but must be 0 to 255" in problem_of(flex({"threshold": 256}))


@dataclass(frozen=True, slots=True)
class _Tuned(ops.Relu):
    """An operator with attributes of every type that options can give."""

    name: ClassVar[str] = "TUNED"

    count: int = 1
    factor: float = 1.0
    is_on: bool = False
    label: str = ""
    padding: ops.Padding = ops.Padding.VALID
    stride: tuple[int, int] = (1, 1)
    taps: tuple[float, ...] = ()


def _tuned(**options: Any) -> Operator:
    return ops.CustomOperator(_Tuned).make(CustomOptions(flex(options)))


def test_options_of_every_type_become_attributes() -> None:
    """Numbers, truth values, texts, enumerators and tuples arrive as what the class says."""
    made = _tuned(count=3, factor=2, is_on=1, label="x", padding="SAME", stride=[2, 3], taps=[1.5, 2.5, 3.5])
    assert made == _Tuned(3, 2.0, True, "x", ops.Padding.SAME, (2, 3), (1.5, 2.5, 3.5))


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"count": "many"}, "its option count is 'many', but int is required"),
        ({"count": True}, "its option count is True, but int is required"),
        ({"factor": None}, "its option factor is None, but float is required"),
        ({"is_on": 2}, "its option is_on is 2, but bool is required"),
        ({"label": 1}, "its option label is 1, but str is required"),
        ({"padding": "FULL"}, "its option padding is 'FULL', but Padding is required"),
        ({"stride": [1, 2, 3]}, "its option stride is (1, 2, 3), but tuple[int, int] is required"),
        ({"taps": {"a": 1}}, "its option taps is {'a': 1}, but tuple[float, ...] is required"),
    ],
)
def test_options_of_another_type_are_refused(options: dict[str, Any], text: str) -> None:
    """A model cannot give an attribute a value that the class does not expect."""
    with pytest.raises(OperatorError) as caught:
        _tuned(**options)
    assert str(caught.value) == text


def test_importer_reads_options_of_any_form() -> None:
    """An importer has the raw bytes; what it refuses, and what it breaks at, is a problem of the model."""

    def read(options: CustomOptions) -> Operator:
        if len(options.data) > 1:
            raise OperatorError(f"{len(options.data)} bytes of options", "Give one")
        return FrameDifference(threshold=options.data[0])  # type: ignore[no-any-return]  # the example is not imported by name

    ops.register_custom(CODE, FrameDifference, importer=read)
    assert motion_graph(b"\x05").nodes[0].op == FrameDifference(threshold=5)
    assert "operator 0: CUSTOM:FRAME_DIFFERENCE: 2 bytes of options. Give one." in problem_of(b"ab")
    assert "the importer failed: IndexError: index out of range" in problem_of(b"")


def test_importer_that_gives_something_else_is_told() -> None:
    """An importer gives the registered class."""
    ops.register_custom(CODE, FrameDifference, importer=lambda _: ops.Relu())
    assert "which is no FrameDifference" in problem_of()
