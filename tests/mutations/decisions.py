"""Bugs in what is computed and proven ahead of time: rounding, rules of operators, packed kernels, passes."""

from tests.mutations.mutation import Mutation

_REFERENCE = "tests/ops/test_reference.py::test_reference_any_model_of_one_operator_equals_tflm"

_QUANT = (
    Mutation(
        "quant.negative-halves-go-up",
        "quant/rounding.py",
        "(half - ((x < 0) & (e > 0)))",
        "half",
        "A division by a power of two rounds negative halves up.",
        ("tests/quant/test_rounding.py",),
    ),
    Mutation(
        "quant.multiplier-is-cut-off",
        "quant/multiplier.py",
        "value = math.floor(fraction * (1 << 31) + 0.5)",
        "value = math.floor(fraction * (1 << 31))",
        "A multiplier's last bit is cut off, not rounded.",
        ("tests/quant/test_multiplier.py",),
    ),
    Mutation(
        "quant.halves-go-to-even",
        "quant/rounding.py",
        "return zero_point + int(round_half_away(quotient))",
        "return zero_point + int(np.round(quotient))",
        "Real numbers between two integers go to the even one.",
        ("tests/quant/test_rounding.py",),
    ),
    Mutation(
        "quant.reciprocal-takes-a-step-too-few",
        "quant/fixed_point.py",
        "for _ in range(3):",
        "for _ in range(2):",
        "A reciprocal ends a Newton step early.",
        ("tests/quant/test_fixed_point.py",),
    ),
)

_OPERATORS = (
    Mutation(
        "operators.pieces-along-channels-pass-for-columns",
        "ops/elementwise/broadcast.py",
        "each.access.count in (1, each.width)",
        "each.access.count in (1, plane[0])",
        "An input that broadcasts along two axes of a row is read in wrong places.",
        ("tests/ops/test_broadcast.py",),
    ),
    Mutation(
        "operators.padding-is-rounded-up",
        "ops/attributes.py",
        "return max(0, (output - 1) * stride + effective - size) // 2",
        "return (max(0, (output - 1) * stride + effective - size) + 1) // 2",
        "An odd border has its larger half in front.",
        (f"{_REFERENCE}[MAX_POOL_2D]",),
    ),
    Mutation(
        "operators.pooling-overlaps-too-much",
        "ops/overlap.py",
        "return window.channels * least_distance((window.first_inside(x), x) for x in range(window.output_width))",
        "return window.channels * least_distance((window.first_inside(x), x - 1) for x in range(window.output_width))",
        "A pooling declares that its output may begin a pixel nearer to its input than it may.",
        ("tests/kernels/test_armv7em.py", "-k", "overwritten and not CONV_2D"),
    ),
    Mutation(
        "operators.window-needs-a-row-too-few",
        "ir/rows.py",
        "high = max(low, min(self.count, -((first - self.rows) // dilation)))",
        "high = max(low, min(self.count, -((first - self.rows + 1) // dilation)))",
        "The last row of an input is never read.",
        (f"{_REFERENCE}[MAX_POOL_2D]",),
    ),
)

_SELECTION = (
    Mutation(
        "selection.proof-forgets-negative-sums",
        "selection/sums.py",
        "is_small = (most < limit) & (least > -limit)",
        "is_small = most < limit",
        "Layers whose sums may be too far below zero get a kernel that doubles them.",
        ("tests/kernels/test_conv2d_three_wide.py", "-k", "leave_their_range"),
    ),
    Mutation(
        "selection.odd-channels-are-constants",
        "selection/sums.py",
        "is_constant = fits & (least == most) & is_odd",
        "is_constant = fits & is_odd",
        "A channel with large sums loses its weights, though it has several outputs.",
        ("tests/selection/test_sums.py",),
    ),
    Mutation(
        "selection.flash-forgets-what-is-paid",
        "selection/code_sizes.py",
        "waiting, seen, total = list(kernels), set(paid), 0",
        "waiting, seen, total = list(kernels), set[str](), 0",
        "For the least flash, functions that the library has in any case are counted again.",
        ("tests/selection/test_least_flash.py", "-k", "counted_once"),
    ),
    Mutation(
        "selection.pairs-need-not-fit",
        "selection/packed_pairs.py",
        "return bool(packed.min() >= _PAIR_LEAST)",
        "return bool(packed.min() >= 2 * _PAIR_LEAST)",
        "Two weights of -128 are packed into 16 bits that cannot hold them.",
        ("tests/kernels/test_fully_connected_variants.py", "-k", "left_to_the_general"),
    ),
    Mutation(
        "selection.addition-ignores-its-upper-clamp",
        "selection/add_linear.py",
        "(layer.activation_min, layer.activation_max) != (-128, 127)",
        "layer.activation_min != -128",
        "An addition that cuts its output from above gets a kernel that does not.",
        ("tests/kernels/test_add_variants.py",),
    ),
    Mutation(
        "selection.codes-are-taken-whatever-they-cost",
        "selection/weights.py",
        "return max(sets, key=lambda each: sum(saved[kernel] for kernel in each) - decoder_bytes(each, target))",
        "return max(sets, key=lambda each: sum(saved[kernel] for kernel in each))",
        "Weights are coded where the decoder takes more than they save.",
        ("tests/selection/test_weights.py", "-k", "save_less_than_the_decoder"),
    ),
    Mutation(
        "operators.int4-takes-wider-weights",
        "ops/sums/int4.py",
        "tensor.data.max() <= _MOST",
        "tensor.data.max() <= 2 * _MOST",
        "Weights that a pass has made wider lose their upper bits.",
        ("tests/passes/test_compressed_weights.py", "-k", "makes_wider"),
    ),
    Mutation(
        "selection.codes-are-longer-than-a-window-holds",
        "selection/rice.py",
        "return pattern, np.where(lengths > MOST_BITS, _TOO_LONG, lengths)",
        "return pattern, lengths",
        "Codes of more than 12 bits are written, which the kernel cannot read.",
        ("tests/selection/test_rice.py", "-k", "encoded_is_decoded"),
    ),
    Mutation(
        "selection.winograd-transforms-with-the-wrong-sign",
        "selection/conv2d_winograd.py",
        "_words(a - b + c)",
        "_words(a - b - c)",
        "A column of the transformed weights has a wrong sign.",
        ("tests/kernels/test_conv2d_three_wide.py", "-k", "drawn_rows"),
    ),
    Mutation(
        "selection.depthwise-taps-are-swapped",
        "selection/depthwise_3x3.py",
        "two_taps(w[2, 0], w[2, 1])",
        "two_taps(w[2, 1], w[2, 0])",
        "Two taps of a window are packed in the wrong order.",
        ("tests/kernels/test_depthwise_variants.py", "-k", "drawn_rows"),
    ),
    Mutation(
        "selection.lanes-add-what-broadcasts",
        "selection/host_lanes.py",
        "if layer.pieces > 1 or not layer.step1 or not layer.step2:",
        "if layer.pieces > 1 or not layer.step1:",
        "An addition of one number gets a kernel that reads on after it.",
        ("tests/kernels/test_host_kernels.py",),
    ),
)

_PASSES = (
    Mutation(
        "passes.joined-convolutions-begin-with-the-first-row",
        "passes/join_depthwise.py",
        "taps[top : top + each.taps.shape[0], left : left + each.taps.shape[1]] = each.taps",
        "taps[: each.taps.shape[0], : each.taps.shape[1]] = each.taps",
        "Taps of a slice are those of the first rows of the tensor.",
        ("tests/passes/test_join_depthwise.py",),
    ),
    Mutation(
        "passes.joined-convolutions-take-channels-in-any-order",
        "passes/join_depthwise.py",
        "each.part.first[_CHANNELS] != next_channel",
        "each.part.first[0]",
        "Convolutions whose channels change places become one that keeps them.",
        ("tests/passes/test_join_depthwise.py",),
    ),
    Mutation(
        "passes.variables-keep-any-rows",
        "passes/append_in_place.py",
        "first = [source[axis] - kept[axis] if number == axis else 0 for number in range(len(source))]",
        "first = list(found.first)",
        "A variable that keeps the first rows is made one that keeps the last.",
        ("tests/passes/test_append_in_place.py",),
    ),
    Mutation(
        "passes.appended-rows-move-one-too-few",
        "passes/append_in_place.py",
        "nodes[place], op=replace(op, skip=new.type.shape[axis])",
        "nodes[place], op=replace(op, skip=1)",
        "A variable moves along by one row where more are appended.",
        ("tests/passes/test_append_in_place.py",),
    ),
    Mutation(
        "passes.outputs-are-dropped",
        "passes/unused.py",
        "if any(graph.readers(index) or not graph.is_inner(index) for index in node.outputs):",
        "if any(graph.readers(index) for index in node.outputs):",
        "Operators whose outputs are the model's are dropped as if nobody read them.",
        ("tests/passes/test_unused.py",),
    ),
    Mutation(
        "passes.pad-into-another-scale",
        "passes/pad_into_window.py",
        "or any(pads[3]) or not same_scale(source, result) or source.is_state:",
        "or any(pads[3]) or source.is_state:",
        "A border of one zero point becomes one of another.",
        ("tests/passes/test_pad_into_window.py",),
    ),
    Mutation(
        "passes.pooling-that-clamps-is-dropped",
        "passes/identity.py",
        "if is_one and not clamps else",
        "if is_one else",
        "A pooling of single elements is dropped though it cuts them off.",
        ("tests/passes/test_identity.py",),
    ),
    Mutation(
        "passes.quantize-to-another-scale-is-dropped",
        "passes/identity_quantize.py",
        "return same_type(graph.tensors[source], view.output) and bool((table == IDENTITY).all())",
        "return bool((table == IDENTITY).all())",
        "A change of scale that keeps the numbers is dropped, though they mean others then.",
        ("tests/passes/test_identity_quantize.py",),
    ),
    Mutation(
        "passes.slice-that-moves-is-taken-for-none",
        "passes/moves_nothing.py",
        "found = [(axis.source, axis.step, axis.size)",
        "found = [(axis.source, abs(axis.step), axis.size)",
        "An operator that turns elements around becomes a reshape.",
        ("tests/passes/test_moves_nothing.py",),
    ),
)

DECISIONS = (*_QUANT, *_OPERATORS, *_SELECTION, *_PASSES)
"""All of them."""
