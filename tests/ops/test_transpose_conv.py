"""Which rows TRANSPOSE_CONV reads, and what that saves."""

import numpy as np
import pytest

from kibi.dtypes import DType
from kibi.frontends.tflite.builder import ModelBuilder
from kibi.ir import Graph
from kibi.planner import plan, validate
from kibi.runtime import Interpreter
from kibi.targets import target
from kibi.tflm import Oracle
from tests.ops.comparison import assert_same, graph_of
from tests.ops.orders import interleaved
from tests.support.case import Case


def _case(size: tuple[int, int], kernel: tuple[int, int], stride: int, padding: str, output: tuple[int, int]) -> Case:
    """A RELU6, a TRANSPOSE_CONV of one channel into two, and a MAX_POOL_2D."""
    b, rng = ModelBuilder(), np.random.default_rng(0)
    data = rng.integers(-128, 128, (1, *size, 1)).astype(np.int8)
    x, narrow = b.input((1, *size, 1), DType.S8, 0.1, 3), b.tensor((1, *size, 1), DType.S8, 0.1, 3)
    sizes = b.constant(np.array((1, *output, 2), np.int32))
    weights = b.constant(rng.integers(-127, 128, (2, *kernel, 1)).astype(np.int8), (0.01, 0.02), (0, 0))
    bias = b.constant(np.array((-50, 50), np.int32), (0.001, 0.002), (0, 0))
    wide = b.tensor((1, *output, 2), DType.S8, 0.2, -4)
    height, width = (min(2, each) for each in output)
    y = b.tensor((1, output[0] // height, output[1] // width, 2), DType.S8, 0.2, -4)
    b.operator("RELU6", [x], [narrow])
    strides = {"stride_h": stride, "stride_w": stride}
    b.operator("TRANSPOSE_CONV", [sizes, weights, narrow, bias], [wide], strides, padding=padding)
    pool = {"filter_height": height, "filter_width": width, "stride_h": height, "stride_w": width}
    b.operator("MAX_POOL_2D", [wide], [y], pool, padding="VALID")
    return Case("NETWORK", b.finish([y]), (data,))


def _needs(graph: Graph) -> list[tuple[int, ...]]:
    view = graph.views[1]
    return [view.op.accesses(view)[0].needs(step) for step in range(view.steps)]


@pytest.mark.parametrize(
    ("size", "kernel", "stride", "padding", "output", "needs"),
    [
        ((4, 3), (3, 3), 2, "SAME", (8, 6), [(0,), (0, 1), (1, 2), (2, 3)]),
        ((3, 3), (2, 2), 2, "VALID", (6, 6), [(0,), (1,), (2,)]),
        ((3, 3), (4, 4), 2, "VALID", (8, 8), [(0,), (0, 1), (1, 2), (2,)]),
        ((3, 2), (3, 3), 1, "SAME", (3, 2), [(0, 1), (0, 1, 2), (1, 2)]),
        ((3, 3), (3, 3), 2, "VALID", (7, 7), [(0, 1, 2)]),
        ((1, 4), (1, 4), 2, "SAME", (1, 8), [(0, 1), (0, 1, 2), (1, 2, 3), (2, 3)]),
        ((1, 4), (3, 2), 2, "VALID", (3, 8), [(0, 1, 2, 3)]),
    ],
)
def test_transpose_conv_step_reads_the_rows_whose_windows_it_meets(
    size: tuple[int, int], kernel: tuple[int, int], stride: int, padding: str, output: tuple[int, int],
    needs: list[tuple[int, ...]], oracle: Oracle,
) -> None:  # fmt: skip
    """As many output rows as the stride has are a step; all are where they do not fill the output, or lie across."""
    case = _case(size, kernel, stride, padding, output)
    graph = graph_of(case)
    assert _needs(graph) == needs
    wanted = oracle.run(case.model, [case.inputs])[0].outputs
    made = plan(graph, target("host"), runs=interleaved(graph))
    validate(graph, made)
    assert_same(graph, Interpreter(graph, made).run(case.inputs), wanted)


def test_transpose_conv_by_row_never_holds_all_of_its_output() -> None:
    """Between two operators that work by the row, only the rows that windows share are kept."""
    graph = graph_of(_case((32, 16), (2, 2), 2, "SAME", (64, 32)))
    whole, by_row = plan(graph, target("host")), plan(graph, target("host"), runs=interleaved(graph))
    assert whole.arena_bytes >= graph.views[1].output.type.size_bytes == 4096
    assert by_row.arena_bytes < 2048
