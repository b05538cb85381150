"""RELU6."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from kibi.dtypes import DType
from kibi.ir import Site
from kibi.ops.attributes import Activation
from kibi.ops.lookup import ALL_S8, Lookup
from kibi.ops.registry import register


@dataclass(frozen=True, slots=True)
class Relu6(Lookup):
    """min(max(x, 0), 6): input s8 → output s8.

    Only the input's scale counts: nothing is rescaled. Source: TFLM `micro/kernels/activations_common.cc`, `Relu6Prepare`.
    """

    name: ClassVar[str] = "RELU6"

    def table(self, site: Site) -> NDArray[np.int8]:
        """Rule N13: clamp to the input's zero point and its 6."""
        source = site["input"].quantization
        _, six = Activation.RELU6.limits(DType.S8, source)
        raised = np.where(source.zero_point > ALL_S8, source.zero_point, ALL_S8)
        return np.where(six < ALL_S8, six, raised).astype(np.int8)


register(Relu6)
