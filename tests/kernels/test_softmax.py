"""SOFTMAX of s8 on emulated cores: what the reference gives, for every beta and scale, at any address."""

import numpy as np
import pytest

import kibi
from tests.kernels.emulated import WIDE_KERNELS, linked, run
from tests.ops.comparison import assert_same, graph_of
from tests.support.amount import amount, sample
from tests.support.choices import Seeded
from tests.support.operator_models import OPERATOR_MODELS

_KERNELS = ("kibi_softmax_s8", "kibi_softmax_s8_s16", "kibi_log_softmax_s8")


@pytest.mark.parametrize("target", sample([("cortex-m4",), ("cortex-m3",), ("cortex-m0plus",)], [("cortex-m4",)]))
def test_drawn_models_equal_the_reference(target: str) -> None:
    """Vectors of all lengths, with equal elements, and with elements far apart."""
    found = set[str]()
    for operator in ("SOFTMAX", "LOG_SOFTMAX"):
        for seed in range(amount(16, 400)):
            case = OPERATOR_MODELS[operator](Seeded(seed))
            graph = graph_of(case)
            kernel = graph.calls[0].kernel
            if kernel not in _KERNELS:
                continue
            found.add(kernel)
            made = run(
                linked(WIDE_KERNELS, target, "zig", "s"), graph.views[0], case.inputs, np.random.default_rng(seed)
            )
            assert_same(graph, [made], kibi.run(graph, None, case.inputs))
    assert found == {*_KERNELS}
