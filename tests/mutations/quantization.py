"""Bugs in the quantizer: files that load, run, and answer worse."""

from tests.mutations.mutation import Mutation

_FOLDER = "tests/quantization"
_QUANTIZING, _RULES = f"{_FOLDER}/test_quantizing.py", f"{_FOLDER}/test_rules.py"
_IMPROVING, _RECURRENT = f"{_FOLDER}/test_improving.py", f"{_FOLDER}/test_recurrent.py"

QUANTIZATION = (
    Mutation(
        "quantization.range-does-not-hold-zero",
        "quantization/affine.py",
        "return Range(min(low, 0.0), max(high, 0.0))",
        "return Range(low, high)",
        "Zeros of padding are no element of a tensor whose values are all above 0.",
        (_QUANTIZING, "-k", "above_zero"),
    ),
    Mutation(
        "quantization.bias-in-the-scale-of-the-weights",
        "quantization/affine.py",
        "products = (np.float32(input_scale) * scales.astype(np.float32)).astype(np.float64)",
        "products = scales.astype(np.float32).astype(np.float64)",
        "Biases have another scale than the sums that they are added to.",
        (_QUANTIZING, "-k", "keeps_its_answers or weights"),
    ),
    Mutation(
        "quantization.weights-by-the-channel-of-another-axis",
        "quantization/rules.py",
        '"DEPTHWISE_CONV_2D": Rule(weights=Weights(1, 3, 2)),',
        '"DEPTHWISE_CONV_2D": Rule(weights=Weights(1, 0, 2)),',
        "A depthwise convolution has one scale for all channels.",
        (_QUANTIZING, "-k", "scale_for_each_channel"),
    ),
    Mutation(
        "quantization.concatenation-of-other-scales",
        "quantization/layout.py",
        "return {(layer.index, place) for place in forms if place not in joined}",
        "return set()",
        "An input whose scale a kernel decides is copied into a tensor of another scale.",
        (_QUANTIZING, "-k", "joined"),
    ),
    Mutation(
        "quantization.moved-elements-with-a-scale-of-their-own",
        "quantization/rules.py",
        "_MOVES = Rule(Scales.SOURCE)",
        "_MOVES = Rule()",
        "RELU6 and operators that move elements get other scales before and after, though they rescale nothing.",
        (_RULES, "-k", "RELU6 or TRANSPOSE"),
    ),
    Mutation(
        "quantization.padding-of-space-to-batch-is-an-element-of-zero",
        "quantization/rules.py",
        "Rule(Scales.SOURCE, is_symmetric=True)",
        "Rule(Scales.SOURCE)",
        "What SPACE_TO_BATCH_ND pads is the element 0, and not the zero point.",
        (_RULES, "-k", "SPACE_TO_BATCH_ND"),
    ),
    Mutation(
        "quantization.factors-are-not-taken-back",
        "quantization/equalization.py",
        "weights[index] = _scaled(values, 1 / whole, axis)",
        "weights[index] = _scaled(values, whole, axis)",
        "The next layer's weights are multiplied with the factors, too.",
        (_IMPROVING, "-k", "compute_the_same"),
    ),
    Mutation(
        "quantization.relu6-is-widened-beyond-six",
        "quantization/equalization.py",
        "found[channels.highs >= _NEAR * pair.limit] = 1.0",
        "pass",
        "Channels that ReLU6 cuts are scaled, though the cut is not.",
        (_IMPROVING, "-k", "compute_the_same"),
    ),
    Mutation(
        "quantization.every-change-stays",
        "quantization/improving.py",
        "if energy.part >= gain * self.noise:",
        "if energy.part >= 1e9 * self.noise:",
        "A change that makes the error larger stays.",
        (_IMPROVING, "-k", "never_worse"),
    ),
    Mutation(
        "quantization.hidden-state-has-a-scale-of-its-own",
        "quantization/layout.py",
        "groups.join(outputs[0], (layer.inputs[HIDDEN_STATE], dtype))",
        "groups.find((layer.inputs[HIDDEN_STATE], dtype))",
        "The hidden state of an LSTM is read in another scale than it is written in; the kernel refuses that.",
        (_RECURRENT, "-k", "near_to_its_floats"),
    ),
    Mutation(
        "quantization.cells-are-cut",
        "quantization/recurrent.py",
        "2.0 ** (ceil(log2(largest)) - 15)",
        "2.0 ** (ceil(log2(largest)) - 17)",
        "The cells of an LSTM reach beyond their type.",
        (_RECURRENT, "-k", "power_of_two"),
    ),
)
