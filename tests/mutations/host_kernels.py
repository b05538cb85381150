"""Mutations of the kernels for machines with vectors in C: those of Linux, and WebAssembly."""

from tests.mutations.mutation import Mutation

HOST_KERNELS = (
    Mutation(
        "kernels.host-window-reaches-too-far",
        "kernels/host/kibi_conv2d_s8_lanes.c",
        "const int32_t left = p->input_width - (start + before);",
        "const int32_t left = p->input_width + 1 - (start + before);",
        "A window that reaches one column beyond the input is copied as if that column existed.",
        ("tests/kernels/test_host_kernels.py", "-k", "equals_the_reference"),
    ),
    Mutation(
        "kernels.host-row-is-read-over-its-output",
        "kernels/host/kibi_conv2d_f32_lanes.c",
        "return is_column && (to + written <= from || from + read <= to) ? row : NULL;",
        "return is_column ? row : NULL;",
        "Windows of one column are read where the output has been written.",
        ("tests/kernels/test_host_kernels.py", "-k", "over_its_input"),
    ),
    Mutation(
        "kernels.host-products-lose-their-sign",
        "kernels/host/kibi_lanes.h",
        "_mm_add_epi32(_mm_add_epi32(sums, first), _mm_madd_epi16(odd, _mm_srai_epi16(w, 8)))",
        "_mm_add_epi32(_mm_add_epi32(sums, first), _mm_madd_epi16(odd, _mm_srli_epi16(w, 8)))",
        "With SSE2, every second weight loses its sign.",
        ("tests/kernels/test_host_kernels.py", "-k", "equals_the_reference"),
    ),
    Mutation(
        "kernels.wasm-products-lose-their-sign",
        "kernels/host/kibi_lanes.h",
        "wasm_i32x4_dot_i16x8(odd, wasm_i16x8_shr(w, 8)))",
        "wasm_i32x4_dot_i16x8(odd, wasm_u16x8_shr(w, 8)))",
        "With SIMD128, every second weight loses its sign.",
        ("tests/kernels/test_host_kernels.py", "-k", "in_a_program"),
    ),
    Mutation(
        "kernels.floats-of-32-bit-arm-in-vectors",
        "kernels/host/kibi_lanes_f32.h",
        "KIBI_LANES > 1 && !defined(__arm__)",
        "KIBI_LANES > 1",
        "NEON of 32-bit Arm takes subnormal numbers for zeros.",
        ("tests/kernels/test_host_kernels.py", "-k", "subnormal"),
    ),
    Mutation(
        "kernels.host-pixels-of-a-chunk-begin-with-the-first",
        "kernels/host/kibi_depthwise_conv2d_s8_lanes.c",
        "copy_columns(copy, rows, p, &part, x * p->stride - p->pad);",
        "copy_columns(copy, rows, p, &part, -p->pad);",
        "Where a row is computed in several chunks, all of them read the columns of the first.",
        ("tests/kernels/test_host_kernels.py", "-k", "equals_the_reference"),
    ),
    Mutation(
        "kernels.host-float-add-takes-the-bound-for-nan",
        "kernels/host/kibi_add_f32_lanes.c",
        "block[i] = kibi_cut_f32(a[i] + b[i], low, high);",
        "block[i] = a[i] + b[i] > low ? a[i] + b[i] < high ? a[i] + b[i] : high : low;",
        "A sum that is not a number becomes the lower bound.",
        ("tests/kernels/test_host_kernels.py", "-k", "unusual_numbers"),
    ),
    Mutation(
        "kernels.host-add-ends-with-the-first-input-twice",
        "kernels/host/kibi_add_s8_lanes.c",
        "memcpy(ends[1], b + i, left);",
        "memcpy(ends[1], a + i, left);",
        "Behind the last sixteen elements the first input is added to itself.",
        ("tests/kernels/test_host_kernels.py", "-k", "equals_the_reference"),
    ),
)
