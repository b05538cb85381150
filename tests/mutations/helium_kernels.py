"""Mutations of the kernels for Helium and of how layers get them."""

from tests.mutations.mutation import Mutation

_VECTORS = "tests/kernels/test_vectors.py"
_FLOATS = "tests/kernels/test_vectors_f32.py"
_INT16 = "tests/kernels/test_vectors_s16.py"
_ROWS = "tests/kernels/test_vector_rows.py"

HELIUM_KERNELS = (
    Mutation(
        "kernels.helium-rounds-halves-up-below-zero",
        "kernels/helium/kibi_vector_pixels_s8.c",
        '"vadd.i32 " sums ", " sums ", q2\\n"',
        '"vadd.i32 " sums ", " sums ", q3\\n"',
        "Halves below zero are rounded to other numbers.",
        (_VECTORS, "-k", "boundary and m55 and zig"),
    ),
    Mutation(
        "kernels.helium-windows-are-whole-vectors",
        "kernels/helium/kibi_vector_pixels_s8.c",
        '"vctp.8 r4\\n"',
        '"vctp.8 r0\\n"',
        "Windows of fewer than sixteen elements are read beyond their ends.",
        (_VECTORS, "-k", "equal_the_reference and m55 and zig"),
    ),
    Mutation(
        "kernels.helium-pairs-of-products-overflow",
        "selection/depthwise_vectors.py",
        " or layer.filter.min() == np.iinfo(np.int8).min",
        "",
        "Weights of -128 are taken, whose products with -128 have no room in pairs.",
        (_VECTORS, "-k", "refuse"),
    ),
    Mutation(
        "kernels.helium-channels-twice-in-place",
        "selection/depthwise_vectors.py",
        "each + again for each",
        "each for each",
        "Outputs may be written over channels that are read once more.",
        (_VECTORS, "-k", "declared_distance and m4"),
    ),
    Mutation(
        "kernels.helium-blocks-in-place",
        "selection/conv2d_vectors.py",
        "written = (first + pixels - 1) * channels + _last_channel(channels)",
        "written = first * channels",
        "Outputs may be written over windows that are read again for other channels.",
        (_VECTORS, "-k", "declared_distance and m4"),
    ),
    Mutation(
        "kernels.helium-rest-of-four-pixels",
        "kernels/portable/kibi_conv2d_s8_vectors.c",
        "        if (i + 1 < pixels) {",
        "        if (i < pixels) {",
        "The last pixel of a row is not the one that is computed again in the places of missing ones.",
        (_VECTORS, "-k", "equal_the_reference and m55 and zig"),
    ),
    Mutation(
        "kernels.helium-rounds-once-between-bounds",
        "selection/vectors_rounding.py",
        "    if ends != _ENDS:",
        "    if ends[0] != ends[1]:",
        "Outputs that the activation cuts within int8 are cut at its ends.",
        (_VECTORS, "-k", "refuse"),
    ),
    Mutation(
        "kernels.helium-sums-round-to-the-nearest",
        "kernels/helium/kibi_add_s8_linear.c",
        '"mov r2, #0x88000\\n"',
        '"mov r2, #0x80000\\n"',
        "The first of two shifts rounds sums up.",
        (_ROWS, "-k", "sums_of_rows and zig"),
    ),
    Mutation(
        "kernels.helium-maxima-go-on-too-far",
        "kernels/helium/kibi_max_pool2d_s8.c",
        '"and r11, r11, #15\\n"',
        '"and r11, r11, #7\\n"',
        "Outputs of a pixel do not follow those of the one before it.",
        (_ROWS, "-k", "windows and zig"),
    ),
    Mutation(
        "kernels.helium-averages-of-other-columns",
        "kernels/helium/kibi_average_pool2d_s8_accumulate_small.c",
        "    const int32_t end = start + p->kernel_width;",
        "    const int32_t end = start + p->kernel_width + 1;",
        "Averages count a column too many.",
        (_ROWS, "-k", "last_row and zig"),
    ),
    Mutation(
        "kernels.helium-averages-of-fewer-pixels",
        "kernels/helium/kibi_average_pool2d_s8.c",
        '"add r0, r0, r10\\n"',
        '"add r0, r0, #0\\n"',
        "Outputs of a pixel do not follow those of the one before it, where channels are no whole eights.",
        (_ROWS, "-k", "windows and zig"),
    ),
    Mutation(
        "kernels.helium-floats-flushed",
        "kernels/helium/kibi_float_flags.h",
        '"tst " free ", #0x88\\n"',
        '"tst " free ", #0x8\\n"',
        "Denormal elements and weights count as zeros where no result is denormal.",
        (_FLOATS, "-k", "denormal and m55 and zig"),
    ),
    Mutation(
        "kernels.helium-floats-blocks-in-place",
        "selection/conv2d_vector_rows.py",
        "(first + pixels - 1) * p.output_channels + written",
        "first * p.output_channels + written",
        "Outputs of a block may be written over windows that are read again for other channels.",
        (_FLOATS, "-k", "declared_distance and m4"),
    ),
    Mutation(
        "kernels.helium-depthwise-floats-one-source",
        "kernels/helium/kibi_depthwise_conv2d_f32.c",
        "(uint32_t)((o + lane) / p->depth_multiplier)",
        "(uint32_t)(o / p->depth_multiplier)",
        "Four neighbouring outputs read one input channel, even where two or three do.",
        (_FLOATS, "-k", "equal_the_reference and m55 and zig"),
    ),
    Mutation(
        "kernels.helium-s16-rows-outside",
        "kernels/helium/kibi_vector_pixels_s16.c",
        '    "add r3, r3, lr\\n"                      \\\n',
        "",
        "After a row outside of the input, the weights are those of the row before.",
        (_INT16, "-k", "equal_the_reference and m55 and zig"),
    ),
    Mutation(
        "kernels.helium-s16-zero-point",
        "selection/conv2d_vector_rows.py",
        "    if sizes is None or layer.output_zero_point:",
        "    if sizes is None:",
        "Layers whose outputs have a zero point are taken by a kernel that adds none.",
        (_INT16, "-k", "refuses"),
    ),
)
