"""FULLY_CONNECTED: the factor of a layer whose filter has one scale."""

from pathlib import Path

import numpy as np
import pytest

import kibi
from kibi import tflm as oracle
from kibi.dtypes import DType
from kibi.frontends.tflite.builder import ModelBuilder
from tests.support.oracle import requires_oracle

_CHANNELS = 64


def _model(near: tuple[int, int], *, has_bias: bool) -> bytes:
    """One input, 64 channels. The scales' product needs 25 bits, and rounded to 24 it is 1 / 64 of the output's scale."""
    scales = [(32768 + each) / 2**18 for each in near]
    product = float(np.float32(scales[0]) * np.float32(scales[1]))
    builder = ModelBuilder()
    operands = [builder.input([1, 1], DType.S8, scales[0], 0)]
    weights = (2 * np.arange(_CHANNELS).reshape(-1, 1) + 1).astype(np.int8)
    operands.append(builder.constant(weights, scales[1], 0))
    if has_bias:
        operands.append(builder.constant((97 * np.arange(_CHANNELS) + 1500).astype(np.int32), product, 0))
    output = builder.tensor([1, _CHANNELS], DType.S8, float(np.float32(64 * product)), 0)
    builder.operator("FULLY_CONNECTED", operands, [output], {})
    return builder.finish([output])


@requires_oracle
@pytest.mark.parametrize("has_bias", [True, False])
def test_product_of_the_scales_is_not_rounded(has_bias: bool, tmp_path: Path) -> None:
    """A factor a little below a power of two rounds otherwise than the power itself, and TFLM has the former."""
    random = np.random.default_rng(1)
    with oracle.Oracle() as tflm:
        for number in range(12):
            first, second = (int(each) | 1 for each in random.integers(1, 4000, 2))
            path = tmp_path / f"layer{number}.tflite"
            path.write_bytes(_model((first, second), has_bias=has_bias))
            inputs = [np.array([[63 + 5 * number]], np.int8)]
            (expected,) = tflm.run(path, [inputs])[0].outputs
            np.testing.assert_array_equal(kibi.run(kibi.load(path), None, inputs)[0], expected)
