"""Mutations of the kernels for RISC-V and of how layers get them."""

from tests.mutations.mutation import Mutation

_SMALL = "tests/kernels/test_small_cores.py"

RISCV_KERNELS = (
    Mutation(
        "kernels.riscv-halves-lose-the-sign",
        "kernels/riscv/kibi_halves_channels_s8.c",
        '"lui a5, 8\\n"',
        '"lui a5, 7\\n"',
        "What makes the lower half a number without a sign is too small.",
        ("tests/kernels/test_conv2d_halves.py", "-k", "ends_of_a_half and rv32imac"),
    ),
    Mutation(
        "kernels.riscv-flags-are-not-shifted",
        "kernels/riscv/kibi_halves_groups_s8.h",
        '"slli a4, a4, 2\\n"',
        '"slli a4, a4, 0\\n"',
        "All groups end as the first one does.",
        ("tests/kernels/test_conv2d_halves.py", "-k", "any_size and rv32imac"),
    ),
    Mutation(
        "kernels.riscv-second-weight-has-a-sign",
        "kernels/riscv/kibi_halves_vector_s8.c",
        '#define SIGNED "mulhsu"',
        '#define SIGNED "mulh"',
        "The highest byte of a word is taken for a number with a sign.",
        ("tests/kernels/test_fully_connected_halves.py", "-k", "any_shape and rv32imac"),
    ),
    Mutation(
        "kernels.riscv-small-elements-never-end",
        "kernels/riscv/kibi_halves_vector_s8.c",
        '"bgeu a4, s9, 2f\\n"',
        '"j 2f\\n"',
        "Sums of small elements grow beyond their halves.",
        ("tests/kernels/test_fully_connected_halves.py", "-k", "any_shape and rv32imac"),
    ),
    Mutation(
        "kernels.riscv-small-elements-limit",
        "selection/fully_connected_halves.py",
        "_MOST_PRODUCTS = (1 << 15) - 1",
        "_MOST_PRODUCTS = (1 << 16) - 1",
        "Sums of small elements end when they are twice what fits.",
        ("tests/kernels/test_fully_connected_halves.py", "-k", "any_shape and rv32imac"),
    ),
    Mutation(
        "kernels.riscv-depthwise-writes-over-channels",
        "kernels/riscv/kibi_depthwise_channels.h",
        "% (uintptr_t)channels != 0",
        "% (uintptr_t)channels == (uintptr_t)channels",
        "A row is computed channel by channel where its output is in the place of other channels.",
        (_SMALL, "-k", "declared_distance and DEPTHWISE and rv32imac"),
    ),
    Mutation(
        "kernels.riscv-negative-halves-go-up",
        "kernels/riscv/kibi_halves_channels_s8.c",
        '"bgez t4, 19f\\n"',
        '"j 19f\\n"',
        "Outputs are rounded as if those below the zero point were cut off.",
        ("tests/kernels/test_conv2d_halves.py", "-k", "every_boundary and rv32imac"),
    ),
    Mutation(
        "kernels.riscv-odd-steps-lose-a-flag",
        "kernels/riscv/kibi_halves_vector_s8.c",
        '"slli a4, a4, 4\\n"',
        '"slli a4, a4, 3\\n"',
        "Four elements take the flags of three.",
        ("tests/kernels/test_fully_connected_halves.py", "-k", "ends_of_a_half and rv32imac"),
    ),
    Mutation(
        "kernels.riscv-depthwise-begins-inside",
        "kernels/riscv/kibi_depthwise_channels.h",
        "row->pad = pad + skipped;",
        "row->pad = 0;",
        "The first column is taken for one inside of the input.",
        ("tests/kernels/test_depthwise_rows.py", "-k", "any_place"),
    ),
    Mutation(
        "kernels.riscv-depthwise-overflows",
        "kernels/riscv/kibi_depthwise_rows_s8.c",
        '"blez s11, 7f\\n"',
        '"bltz s11, 7f\\n"',
        "Twice the zero point is added to the largest numbers, which leave 32 bits.",
        ("tests/kernels/test_depthwise_rows.py", "-k", "boundary"),
    ),
    Mutation(
        "kernels.riscv-depthwise-last-weight-is-of-another-channel",
        "kernels/riscv/kibi_depthwise_conv2d_s8_3x3_relu.c",
        '"lh s8, 74(t3)\\n"',
        '"lh s8, 80(t3)\\n"',
        "The last weight of two channels of four is read where the other two have theirs.",
        ("tests/kernels/test_depthwise_variants.py", "-k", "drawn_rows and rv32imac"),
    ),
    Mutation(
        "kernels.riscv-depthwise-rest-begins-a-block",
        "kernels/riscv/kibi_depthwise_conv2d_s8_3x3_relu.c",
        "row.constants = (const int32_t *)row.constants + places;",
        "row.constants = (const int32_t *)row.constants + 0 * places;",
        "Channels after the last four have the constants of those before them.",
        ("tests/kernels/test_depthwise_variants.py", "-k", "drawn_rows and rv32imac"),
    ),
    Mutation(
        "selection.halves-fit-too-often",
        "selection/conv2d_halves.py",
        "(127 * above + 128 * below < 1 << 15)",
        "(127 * above + 127 * below < 1 << 15)",
        "Products of the least inputs leave a half.",
        ("tests/kernels/test_conv2d_halves.py", "-k", "fits_a_half"),
    ),
)
"""All of them."""
