"""Bugs in the library for programs by hand: its operators, its checks, what becomes of recorded programs."""

from tests.mutations.mutation import Mutation

_OPERATORS = "tests/eager_c/test_operators.py"
_OPERANDS = "tests/eager_c/test_wrong_operands.py"
_CALLS = "tests/eager_c/test_wrong_calls.py"
_PROGRAMS = "tests/eager_c/test_programs.py"

EAGER: tuple[Mutation, ...] = (
    Mutation(
        "eager.mean-keeps-zero-points",
        "eager_c/c/kibi_op_reduction.c",
        "params.start = (int32_t)(0u - (uint32_t)r->count * (uint32_t)from->zero_point);",
        "params.start = -from->zero_point;",
        "A mean takes the zero point of one element away, not those of all.",
        (_OPERATORS, "-k", "MEAN"),
    ),
    Mutation(
        "eager.reduction-mixes-loops",
        "eager_c/c/kibi_op_reduction.c",
        "level = inside == 1 && level > 2 ? 2 : level;",
        "(void)inside;",
        "An axis before the row takes one of the two loops that axes inside the row need.",
        (_OPERATORS, "-k", "SUM"),
    ),
    Mutation(
        "eager.batch-norm-adds-epsilon-late",
        "eager_c/c/kibi_op_batch_norm.c",
        "kibi_square_root(channels[k].offset + epsilon)",
        "kibi_square_root(channels[k].offset) + epsilon",
        "Epsilon is added to the root of the variance.",
        ("tests/eager_c/test_normalization.py", "-k", "bits"),
    ),
    Mutation(
        "eager.pool-takes-any-window",
        "eager_c/c/kibi_op_pool2d.c",
        "(uint32_t)(window->rows.kernel * window->columns.kernel) <= 65535u &&",
        "window->rows.kernel != 0 &&",
        "The bytes under a window wrap in 32 bits, and elements are written to address 0.",
        (_OPERANDS, "-k", "far_beyond"),
    ),
    Mutation(
        "eager.metadata-keep-the-handle",
        "eager_c/c/kibi_operator.c",
        "(void)kibi_unbind(arena, kibi_address(arena, &work->block), &work->block);",
        "(void)arena;",
        "An arena that frees no single block keeps the address of a handle that has ended.",
        ("tests/eager_c/test_wrong_operands.py", "-k", "linear"),
    ),
    Mutation(
        "eager.scope-is-entered-twice",
        "eager_c/c/kibi_workspace.c",
        "if (open == scope) {",
        "if (open == NULL) {",
        "A scope becomes its own outer scope.",
        (_CALLS, "-k", "entered_again"),
    ),
    Mutation(
        "eager.functions-are-recorded-by-their-results",
        "eager/notes.py",
        "with only(()):",
        "with only(told):",
        "A program in C copies what Python computed from other inputs.",
        (_PROGRAMS, "-k", "recorded_as_calls"),
    ),
)
