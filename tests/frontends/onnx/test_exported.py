"""Models that PyTorch exported, which ONNX's package has with their inputs and outputs; all are of old versions."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from kibi.errors import ModelError
from kibi.frontends.onnx.graph import Numbers
from tests.frontends.onnx.running import run_onnx
from tests.support.amount import IS_EXHAUSTIVE

_DATA = Path(onnx.__file__).parent / "backend" / "test" / "data"
# Their numbers are of 64 bits, and beyond the range of 32; or a row has 220,000 elements.
_BEYOND = re.compile(r"test_operator_(add_broadcast|add_size1.*|addconstant)|test_MaxPool\dd_stride_padding_dilation")
_CASES = [
    path.parent
    for kind in ("converted", "operator")
    for path in sorted(_DATA.glob(f"pytorch-{kind}/*/model.onnx"))
    if not _BEYOND.fullmatch(path.parent.name)
]
_REFUSED = (
    (r"(AvgPool|Conv|MaxPool)3d.*", "windows of 3 axes"),
    (r"PReLU_(3d|\dd_multiparam)", "do not broadcast|at most 4 axes"),
    (r"operator_pow", "its exponent is not one constant number"),
)
"""Expressions for names, and for the reasons why these models are refused."""


@pytest.mark.parametrize("folder", _CASES if IS_EXHAUSTIVE else _CASES[::3], ids=lambda folder: folder.name)
def test_model_of_pytorch_computes_what_it_did_there(folder: Path) -> None:
    """Or is refused for a reason that is listed."""
    name = folder.name.removeprefix("test_")
    model = onnx.load(folder / "model.onnx")
    constants = {each.name for each in model.graph.initializer}
    names = [each.name for each in model.graph.input if each.name not in constants]
    inputs = {each: _array(folder, f"input_{number}") for number, each in enumerate(names)}
    wanted = [_array(folder, f"output_{number}") for number in range(len(model.graph.output))]
    reason = next((why for pattern, why in _REFUSED if re.fullmatch(pattern, name)), None)
    if reason is not None:
        with pytest.raises(ModelError, match=reason):
            run_onnx(model, inputs, [each.dtype for each in wanted])
        return
    got = run_onnx(model, inputs, [each.dtype for each in wanted])
    for mine, its in zip(got, wanted, strict=True):
        assert mine.shape == its.shape
        np.testing.assert_allclose(mine, its, rtol=1e-4, atol=1e-5)


def _array(folder: Path, name: str) -> Numbers:
    tensor: Any = onnx.TensorProto.FromString((folder / "test_data_set_0" / f"{name}.pb").read_bytes())
    array: Numbers = numpy_helper.to_array(tensor)
    return array
