"""The registration of custom operators by a call: what is taken, and what is refused at once."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest

from kibi import ops
from kibi.errors import InputError, InternalError
from kibi.ir import Operator
from kibi.kernels import find
from kibi.kernels.headers import struct_fields
from tests.ops.custom.motion import (
    CODE,
    KERNELS,
    FrameDifference,
    problem_of,
)


def test_unknown_custom_operator_says_how_to_register_one() -> None:
    """The error names the code, and what to call."""
    text = problem_of()
    assert "operator 0: CUSTOM:FRAME_DIFFERENCE is not supported. `kibi operators` lists those that are. " in text
    assert "Register it with kibi.ops.register_custom('FRAME_DIFFERENCE', …)" in text


def test_operators_of_kibi_are_not_replaced(tmp_path: Path) -> None:
    """Neither the name of an operator nor the file of a kernel can be taken."""

    @dataclass(frozen=True, slots=True)
    class Relu(ops.Relu):
        pass

    for code in ("RELU", "MY_RELU"):
        with pytest.raises(InputError, match="RELU is an operator of Kibi's own and cannot be replaced"):
            ops.register_custom(code, Relu)

    @dataclass(frozen=True, slots=True)
    class Mine(ops.Relu):
        name: ClassVar[str] = "MY_RELU"

    (tmp_path / "kibi_unary.h").write_text("nothing")
    shipped = find("kibi_unary.h", ("portable",))
    ops.register_custom("MY_RELU", Mine, kernels=tmp_path)
    assert find("kibi_unary.h", ("portable",)) == shipped
    assert list(ops.operators()) == sorted(ops.operators())
    assert "MY_RELU" not in ops.operators()


def test_name_is_taken_once_and_can_be_given_back() -> None:
    """A second registration is refused until the first is taken back."""
    ops.register_custom(CODE, FrameDifference, kernels=KERNELS)
    with pytest.raises(InputError, match="already registered by a call"):
        ops.register_custom(CODE, FrameDifference)
    assert list(ops.custom_operators()) == [CODE]
    ops.unregister_custom(CODE)
    with pytest.raises(InputError, match=r"no custom operator is registered as 'FRAME_DIFFERENCE'\. Registered: none"):
        ops.unregister_custom(CODE)
    with pytest.raises(InternalError, match=r"has the file kibi_frame_difference_s8\.h"):
        find("kibi_frame_difference_s8.h", ("portable",))
    ops.register_custom(CODE, FrameDifference, kernels=str(KERNELS))
    assert struct_fields("kibi_frame_difference_s8", ("portable",))[0].name == "elements"


def test_files_of_two_folders_do_not_clash(tmp_path: Path) -> None:
    """The same file name in two folders is refused: one library could not have both."""
    (tmp_path / "kibi_frame_difference_s8.c").touch()
    (tmp_path / "kibi_frame_difference_s8.h").write_text((KERNELS / "kibi_frame_difference_s8.h").read_text())
    ops.register_custom(CODE, FrameDifference, kernels=KERNELS)
    with pytest.raises(InputError, match="both have kibi_frame_difference_s8"):
        ops.register_custom("ANOTHER", FrameDifference, kernels=tmp_path)
    assert list(ops.custom_operators()) == [CODE]


def _varied(**facts: object) -> type[Operator]:
    """The example's operator with other facts."""
    made: type[Operator] = dataclass(frozen=True)(type("Varied", (FrameDifference,), facts))
    return made


@pytest.mark.parametrize(
    ("operator", "text"),
    [
        (int, "is no class derived from kibi.ir.Operator"),
        (FrameDifference(), "is no class derived from kibi.ir.Operator"),
        (
            type("Empty", (Operator,), {}),
            "leaves out accesses, infer, kernel_call, reference, name, inputs, kernels, types",
        ),
        (type("Plain", (FrameDifference,), {}), "is no frozen dataclass"),
        (_varied(name="my op"), "'my op' is no C identifier"),
        (_varied(outputs=("first", "second")), "one, named 'output', is supported"),
        (_varied(row_inputs=("frame", "other")), "Name at least one input"),
        (_varied(kernels=("my_kernel",)), "Name it kibi_<operator>_<type>"),
        (_varied(kernels=("kibi_other_s8",)), "there is no file"),
        (_varied(kernels=("kibi_bare_s8",)), "must define kibi_bare_s8_params"),
    ],
)
def test_class_that_is_not_as_it_must_be_is_refused_at_once(operator: Any, text: str, tmp_path: Path) -> None:
    """What is missing or wrong is told when it is registered, not when a model is compiled."""
    (tmp_path / "kibi_bare_s8.c").touch()
    (tmp_path / "kibi_bare_s8.h").write_text("void kibi_bare_s8(void);\n")
    with pytest.raises(InputError, match=r"custom operator 'NAME': ") as caught:
        ops.register_custom("NAME", operator, kernels=tmp_path)
    assert text in str(caught.value)


def test_kernels_lie_in_a_folder(tmp_path: Path) -> None:
    """A path that is no folder is told apart from one without files."""
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="is no folder"):
        ops.register_custom(CODE, _varied(kernels=()), kernels=tmp_path / "file")
