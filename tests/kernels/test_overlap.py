"""The distances of `KernelCall.inplace_distance_bytes`, by brute force: outputs are laid over input rows at each distance."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import product

import numpy as np
import pytest

from kibi.ir import Graph
from kibi.kernels.params.conv2d import Conv2DS8Params
from kibi.ops import operators
from tests.kernels.overlaps import Probe, probes_of, run
from tests.ops.comparison import graph_of
from tests.ops.convolutions import GEOMETRIES, convolution
from tests.support.amount import amount
from tests.support.choices import Seeded
from tests.support.operator_models import OPERATOR_MODELS
from tests.support.wider_models import WIDER_MODELS

Answers = Mapping[str, Sequence[tuple[Probe, Sequence[bool]]]]

_KERNELS = frozenset(
    kernel for operator in operators().values() for kernel in operator.kernels if not operator.subgraph_names
)
"""Those that run other graphs have no overlap, and cannot be called alone."""
_ENOUGH = amount(7, 40)
"""Probes of a kernel."""
_ELEMENTWISE = (
    *("kibi_add_s8", "kibi_add_s16", "kibi_add_f32", "kibi_table_s8", "kibi_mul_s8", "kibi_neg_f32"),
    *("kibi_logistic_f32", "kibi_exp_f32_each", "kibi_log_f32", "kibi_elu_f32"),
    *("kibi_sub_s8", "kibi_sub_s16", "kibi_sub_f32"),
)
_MANY_TO_ONE = (
    *(f"kibi_{name}_{dtype}" for name in ("maximum", "minimum") for dtype in ("s8", "s16", "s32", "s64", "f32")),
    *(f"kibi_squared_difference_{dtype}" for dtype in ("s8", "s16", "s32", "f32")),
    *(f"kibi_{name}_f32" for name in ("abs", "ceil", "floor", "relu", "relu6", "round", "rsqrt", "sqrt", "square")),
    *(f"kibi_{name}_f32" for name in ("div", "hard_swish", "leaky_relu", "mul", "prelu")),
    *("kibi_cos_f32", "kibi_sin_f32", "kibi_tanh_f32", "kibi_logistic_s16", "kibi_tanh_s16", "kibi_rsqrt_s16"),
    *("kibi_abs_s16", "kibi_leaky_relu_s16", "kibi_mul_s16", "kibi_relu_s16", "kibi_relu6_s16"),
    *(f"kibi_compare_{dtype}" for dtype in ("s8", "s32", "s64", "f32", "bool")),
    *("kibi_logical_and_bool", "kibi_logical_not_bool", "kibi_logical_or_bool", "kibi_select_any"),
    *("kibi_add_n_s8", "kibi_add_n_f32"),
    *(f"kibi_floor_{name}_{dtype}" for name in ("div", "mod") for dtype in ("f32", "s32")),
    *("kibi_add_s32", "kibi_div_s8", "kibi_div_s32", "kibi_mul_s32", "kibi_prelu_s8", "kibi_prelu_s16", "kibi_sub_s32"),
)
_TIGHT = (
    *("kibi_conv2d_s8", "kibi_depthwise_conv2d_s8", "kibi_dequantize_s8_f32", "kibi_fully_connected_s8"),
    *("kibi_dequantize_u8_f32", "kibi_dequantize_s16_f32"),
    *("kibi_conv2d_f32", "kibi_depthwise_conv2d_f32", "kibi_fully_connected_f32"),
    *("kibi_conv2d_s16", "kibi_depthwise_conv2d_s16", "kibi_fully_connected_s16"),
    *_ELEMENTWISE,
)
_NO_OVERLAP = "it has no overlap at all"
_CONSERVATIVE = {
    **dict.fromkeys(_MANY_TO_ONE, "elementwise, but many inputs give one output"),
    "kibi_average_pool2d_f32": "a mean may hide one element",
    "kibi_average_pool2d_f32_accumulate": "the last call reads everything before it writes",
    "kibi_average_pool2d_s16": "a mean may hide one element",
    "kibi_average_pool2d_s16_accumulate": "the last call reads everything before it writes",
    "kibi_average_pool2d_s8": "a mean may hide one element",
    "kibi_average_pool2d_s8_accumulate": "the last call reads everything before it writes",
    "kibi_average_pool2d_s8_accumulate_small": "the last call reads everything before it writes",
    **dict.fromkeys(
        ("kibi_broadcast_args_s32", "kibi_broadcast_args_s64"), "elementwise, but many inputs give one output"
    ),
    "kibi_circular_buffer_s8": "it has no overlap at all, or lies right over its memory",
    "kibi_concatenation_any": "of several rows that a step reads, the last decides",
    "kibi_conv2d_s8_codebook": "of all channels at once everything is read before anything is written, else nothing overlaps",
    "kibi_conv2d_s8_int4": "weights may all be 0, and a dilated window may leave out the only column that there is",
    "kibi_copy_any": "of several rows that a step reads, the last decides",
    "kibi_copy_f32": "of several rows that a step reads, the last decides",
    "kibi_copy_s8": "of several rows that a step reads, the last decides",
    "kibi_dynamic_update_slice_any": "the update may hide what was copied",
    "kibi_detection_postprocess_f32": "the last call reads everything before it writes",
    "kibi_fully_connected_f32_accumulate": "the last call reads everything before it writes",
    "kibi_fully_connected_s16_accumulate": "the last call reads everything before it writes",
    "kibi_fully_connected_s8_codebook": "tables may hold zeros alone",
    "kibi_fully_connected_s8_int4": "weights may all be 0",
    "kibi_fully_connected_s8_int4_accumulate": "the last call reads everything before it writes",
    "kibi_fully_connected_s8_accumulate": "the last call reads everything before it writes",
    "kibi_max_pool2d_f32": "a maximum may hide one element",
    "kibi_max_pool2d_f32_accumulate": "the last call reads everything before it writes",
    "kibi_max_pool2d_s16": "a maximum may hide one element",
    "kibi_max_pool2d_s16_accumulate": "the last call reads everything before it writes",
    "kibi_max_pool2d_s8": "a maximum may hide one element",
    "kibi_max_pool2d_s8_accumulate": "the last call reads everything before it writes",
    "kibi_l2_normalization_f32": "the norm hides single elements",
    "kibi_l2_normalization_s8": "outputs may be at an end of their range whatever the inputs",
    "kibi_l2_pool2d_f32": "a mean may hide one element",
    "kibi_log_softmax_f32": "the sum hides single elements",
    "kibi_log_softmax_s8": "outputs may be at an end of their range whatever the inputs",
    "kibi_mean_f32": "the last call reads everything before it writes",
    "kibi_mean_s16": "the last call reads everything before it writes",
    "kibi_mean_s8": "the last call reads everything before it writes",
    "kibi_pad_f32": "of several rows that a step reads, the last decides",
    "kibi_pad_s16": "of several rows that a step reads, the last decides",
    "kibi_pad_s32": "of several rows that a step reads, the last decides",
    "kibi_pad_s8": "of several rows that a step reads, the last decides",
    **dict.fromkeys(
        (
            "kibi_gather_runs_any",
            "kibi_gather_runs_s8",
            "kibi_gather_runs_s16",
            "kibi_gather_runs_s32",
            "kibi_gather_runs_f32",
        ),
        "of several rows that a step reads, the last decides",
    ),
    **dict.fromkeys(operators()["QUANTIZE"].kernels[1:], "elements lose bits, and alignment allows no nearer place"),
    "kibi_shape_any": "the input is not read",
    **dict.fromkeys(operators()["CAST"].kernels, "elements lose bits, and alignment allows no nearer place"),
    **dict.fromkeys(
        ("kibi_reduce_all_bool", "kibi_reduce_extreme_f32", "kibi_reduce_extreme_s8", "kibi_sum_f32"),
        "the last call reads everything before it writes",
    ),
    **dict.fromkeys((f"kibi_batch_matmul_{dtype}" for dtype in ("s8", "s16", "f32")), _NO_OVERLAP),
    **dict.fromkeys(("kibi_cumsum_s8", "kibi_cumsum_f32"), _NO_OVERLAP),
    **dict.fromkeys(("kibi_gather_any", "kibi_embedding_lookup_s8_f32"), _NO_OVERLAP),
    **dict.fromkeys(("kibi_resize_bilinear_s8", "kibi_resize_bilinear_f32"), _NO_OVERLAP),
    **dict.fromkeys(("kibi_arg_extreme_f32", "kibi_arg_extreme_s8"), _NO_OVERLAP),
    **dict.fromkeys(
        (kernel for kernel in _KERNELS if kernel.startswith("kibi_signal_")),
        "elements lose bits, or it has no overlap at all",
    ),
    "kibi_softmax_f32": "the sum hides single elements",
    **dict.fromkeys(
        ("kibi_transpose_conv_f32", "kibi_transpose_conv_s16", "kibi_transpose_conv_s8"),
        "of several rows that a step reads, the last decides",
    ),
    "kibi_softmax_s16": "the sum hides single elements",
    "kibi_softmax_s8_s16": "outputs may be at an end of their range whatever the inputs",
    "kibi_softmax_s8": "outputs may be at an end of their range whatever the inputs",
    **dict.fromkeys(
        ("kibi_lstm_f32", "kibi_lstm_s8", "kibi_lstm_s16", "kibi_svdf_f32", "kibi_svdf_s8", "kibi_svdf_s8_s16"),
        "a memory that starts as zeros hides what changes",
    ),
    "kibi_strided_copy_any": "of several rows that a step reads, the last decides",
}
"""Kernels with inputs for which less would do, and why."""


def _of_graph(graph: Graph) -> list[Probe]:
    return [probe for view in graph.views for probe in probes_of(view, np.random.default_rng(0))]


def _drawn(name: str) -> Iterator[Probe]:
    """Probes of an operator, until there are enough of each of its kernels."""
    wanted = [kernel for kernel in operators()[name].kernels if _CONSERVATIVE.get(kernel) != _NO_OVERLAP]
    counts: Counter[str] = Counter()
    draws = [models[name] for models in (OPERATOR_MODELS, WIDER_MODELS) if name in models]
    for seed, draw in product(range(30 * len(wanted)), draws):
        if all(counts[kernel] >= _ENOUGH for kernel in wanted):
            return
        new = [probe for probe in _of_graph(graph_of(draw(Seeded(seed)))) if counts[probe.call.kernel] < _ENOUGH]
        counts.update(probe.call.kernel for probe in new)
        yield from new


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Answers:
    """For each kernel its probes; for each its answers at distances from one unit above the row downward."""
    probes = [probe for name in operators() for probe in _drawn(name)]
    probes += [probe for geometry in GEOMETRIES for probe in _of_graph(graph_of(convolution(geometry)))]
    found: dict[str, list[tuple[Probe, Sequence[bool]]]] = {}
    for probe, right in zip(probes, run(probes, tmp_path_factory.mktemp("overlap")), strict=True):
        found.setdefault(probe.call.kernel, []).append((probe, right))
    return found


def _index(probe: Probe) -> int:
    """Where the answer for the declared distance stands, rounded up to the alignment."""
    return 1 - -probe.declared // probe.unit


def test_every_kernel_is_tight_or_known_to_be_conservative() -> None:
    """Of each kernel is known whether its distances are the least, or why they are not."""
    assert {*_TIGHT, *_CONSERVATIVE} == _KERNELS


@pytest.mark.share(3, part=1)
@pytest.mark.parametrize("kernel", sorted(_KERNELS))
def test_output_at_the_declared_distance_or_more_is_right(kernel: str, answers: Answers) -> None:
    """An output that begins as far below a dying row as is declared, or farther, gets the bytes it gets elsewhere."""
    assert kernel in answers or _CONSERVATIVE[kernel] == _NO_OVERLAP
    for probe, right in answers.get(kernel, ()):
        assert 0 <= probe.declared <= probe.output_bytes
        assert all(right[_index(probe) :]), probe


@pytest.mark.parametrize("kernel", _TIGHT)
def test_output_one_unit_nearer_is_wrong(kernel: str, answers: Answers) -> None:
    """Where a kernel needs a distance at all, one byte less (one element, of floats) spoils the output.

    A dilated window may leave out the only column that there is: then the output does not depend on the row at all.
    """
    probes = [(probe, right) for probe, right in answers[kernel] if probe.declared > 0 and not all(right)]
    assert probes or kernel in _ELEMENTWISE
    for probe, right in probes:
        assert not right[_index(probe) - 1], probe


@pytest.mark.parametrize("kernel", _ELEMENTWISE)
def test_elementwise_output_above_its_row_is_wrong(kernel: str, answers: Answers) -> None:
    """An elementwise kernel may write over the very element it has read, but not over the next."""
    longer = [(probe, right) for probe, right in answers[kernel] if probe.output_bytes > probe.unit]
    assert longer
    for probe, right in longer:
        assert (probe.declared, right[0]) == (0, False), probe


@pytest.mark.parametrize("uses_im2col", [0, 1])
def test_convolution_is_probed_with_and_without_gathering(uses_im2col: int, answers: Answers) -> None:
    """Both ways of `kibi_conv2d_s8` have been tried at a distance that is neither nothing nor all of the output."""
    ways = [
        (probe.declared, probe.output_bytes)
        for probe, _ in answers["kibi_conv2d_s8"]
        if probe.call.params_as(Conv2DS8Params).uses_im2col == uses_im2col
    ]
    assert any(0 < declared < output_bytes for declared, output_bytes in ways)
