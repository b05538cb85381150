"""Bugs in the importer: attributes, enumerations, axes, signatures, bounds of what is read."""

from tests.mutations.mutation import Mutation

_TFLITE = "frontends/tflite/"
_REFERENCE = "tests/ops/test_reference.py::test_reference_any_model_of_one_operator_equals_tflm"
_TESTS = "tests/frontends/tflite/"

FRONTENDS = (
    Mutation(
        "importer.height-and-width-are-swapped",
        _TFLITE + "importers/base.py",
        "pair = options.integer(height), options.integer(width)",
        "pair = options.integer(width), options.integer(height)",
        "Strides, dilations and kernels have their width first.",
        (_TESTS + "test_operators.py",),
    ),
    Mutation(
        "importer.depth-multiplier-has-no-default",
        _TFLITE + "importers/windows.py",
        "if multiplier and all(len(shape) == 4 for shape in shapes) and len(shapes) == 2:",
        "if all(len(shape) == 4 for shape in shapes) and len(shapes) == 2:",
        "A depthwise convolution whose multiplier is left out is refused.",
        (_TESTS + "test_operators.py",),
    ),
    Mutation(
        "importer.symmetric-is-taken-for-reflecting",
        _TFLITE + "importers/moving.py",
        "return MirrorPad(is_reflecting=code == _REFLECT)",
        "return MirrorPad(is_reflecting=code == _SYMMETRIC)",
        "The two modes of a mirrored border are swapped.",
        (f"{_REFERENCE}[MIRROR_PAD]",),
    ),
    Mutation(
        "importer.narrow-sums-have-the-wrong-type",
        _TFLITE + "importers/windows.py",
        'return TENSOR_TYPES.get(options.integer("QuantizedBiasType")) == "INT32"',
        'return TENSOR_TYPES.get(options.integer("QuantizedBiasType")) == "INT64"',
        "Sums of 16-bit layers without a bias have 64 bits where the file asks for 32.",
        (_TESTS + "test_operators.py",),
    ),
    Mutation(
        "importer.slice-reads-the-begin-mask-twice",
        _TFLITE + "importers/joining.py",
        '"end_mask": "EndMask"',
        '"end_mask": "BeginMask"',
        "The mask of a slice's ends is that of its begins.",
        (f"{_REFERENCE}[STRIDED_SLICE]",),
    ),
    Mutation(
        "importer.scales-lie-along-the-first-axis",
        _TFLITE + "tensors.py",
        "(_axis(record, shape) or 0) if len(scales) > 1 else 0)",
        "0)",
        "Scales of channels lie along the first axis, whatever the file says.",
        (_TESTS + "test_tensors.py",),
    ),
    Mutation(
        "importer.scales-need-not-fit-their-axis",
        _TFLITE + "tensors.py",
        "return record.axis if 0 <= record.axis < len(shape) and shape[record.axis] == count else None",
        "return record.axis if 0 <= record.axis < len(shape) else None",
        "There may be more or fewer scales than the axis has channels.",
        (_TESTS + "test_tensors.py",),
    ),
    Mutation(
        "importer.zero-point-may-lie-one-outside",
        _TFLITE + "tensors.py",
        "if not low <= zero_point <= high), None)",
        "if not low <= zero_point <= high + 1), None)",
        "A zero point of 128 passes for one of int8.",
        (_TESTS + "test_tensors.py",),
    ),
    Mutation(
        "importer.signatures-lead-to-the-first-graph",
        _TFLITE + "signatures.py",
        "graph = graphs(found.subgraph)",
        "graph = graphs(0)",
        "Every signature gives the first graph.",
        (_TESTS + "test_signatures.py",),
    ),
    Mutation(
        "importer.signature-inputs-need-not-be-inputs",
        _TFLITE + "signatures.py",
        "if index not in tensors:",
        "if index < 0:",
        "A signature may name any tensor as an input.",
        (_TESTS + "test_signatures.py",),
    ),
    Mutation(
        "importer.reads-beyond-the-file",
        _TFLITE + "flatbuffer.py",
        "if not 0 <= position <= len(data) - count:",
        "if not 0 <= position <= len(data):",
        "What begins inside the file may end after it.",
        (_TESTS + "test_flatbuffer.py", _TESTS + "test_cut_files.py"),
    ),
    Mutation(
        "importer.buffer-may-be-one-after-the-last",
        _TFLITE + "reader.py",
        "if index >= self._buffer_count:",
        "if index > self._buffer_count:",
        "A tensor's data may be in the buffer after the last one.",
        (_TESTS + "test_tensors.py", _TESTS + "test_importer.py"),
    ),
    Mutation(
        "importer.int4-has-the-upper-half-first",
        _TFLITE + "int4.py",
        "np.stack([pairs & 0xF, pairs >> 4], axis=1)",
        "np.stack([pairs >> 4, pairs & 0xF], axis=1)",
        "Two weights in a byte are swapped.",
        (_TESTS + "test_int4.py",),
    ),
    Mutation(
        "importer.codebook-index-goes-one-too-far",
        _TFLITE + "coding.py",
        "if indices.size and int(indices.max()) >= each:",
        "if indices.size and int(indices.max()) > each:",
        "An index may lead one value after the table.",
        (_TESTS + "test_compression.py",),
    ),
    Mutation(
        "importer.offline-plan-takes-any-negative-offset",
        _TFLITE + "offline_plan.py",
        "if offset < ONLINE:",
        "if offset < 2 * ONLINE:",
        "An offset of -2 in a file's plan is no mistake.",
        (_TESTS + "test_offline_plan.py", "tests/planner/test_offline_plan.py"),
    ),
)
"""All of them."""
