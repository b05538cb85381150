"""Bugs in what runs without C: interpreters, arenas, tensors, operators by hand."""

from tests.mutations.mutation import Mutation

RUNTIME = (
    Mutation(
        "eager.lent-row-keeps-its-block-pinned",
        "eager/tensors/interface.py",
        "del held  # the pin ends when the block of `_held` does, so that no array may be left here by then",
        "pass",
        "Each row of a fast operator outlives its pin.",
        ("tests/runtime/test_eager_operators.py", "-k", "holds_no_pin"),
    ),
    Mutation(
        "eager.bind-of-nothing-raises-the-first-error",
        "eager/memory/block_arena.py",
        "for kind in (InvalidBoundRegionState, MetaHeaderNotBound, MetaHeaderNotFound):",
        "for kind in (MetaHeaderNotFound, MetaHeaderNotBound, InvalidBoundRegionState):",
        "What is reported of a region that nobody allocated comes in another order.",
        ("tests/runtime/memory/test_hostile.py",),
    ),
    Mutation(
        "eager.held-bytes-may-move",
        "eager/memory/block_arena.py",
        "block.views.append(ref(shown))",
        "ref(shown)",
        "A block moves though a program holds its bytes.",
        ("tests/runtime/memory/test_handle_arena.py", "tests/runtime/test_following.py"),
    ),
    Mutation(
        "runtime.array-for-a-registered-buffer-is-ignored",
        "runtime/given.py",
        "elif not _is_same_memory(array, registered[index]):",
        "elif array is None:",
        "Another array for an input in a registered buffer counts for nothing, and nobody is told.",
        ("tests/runtime/test_set_and_invoke.py",),
    ),
    Mutation(
        "runtime.plan-of-a-changed-file-is-followed",
        "runtime/plan_choice.py",
        "if graph.digest and sha256(data).hexdigest() != graph.digest:",
        "if graph.digest and not data:",
        "A plan is taken from a file that is another model by now.",
        ("tests/runtime/test_following.py",),
    ),
    Mutation(
        "runtime.outputs-are-those-of-an-earlier-inference",
        "runtime/interpreter.py",
        "self._keep(None)",
        "self._set = self._set",
        "Outputs can be read while the next inference runs.",
        ("tests/runtime/test_set_and_invoke.py",),
    ),
    Mutation(
        "runtime.profile-joins-different-operators",
        "runtime/profiling.py",
        "if before is not None and before.number == number:",
        "if before is not None:",
        "Steps of neighbouring operators are told as those of the first.",
        ("tests/runtime/test_profile.py",),
    ),
    Mutation(
        "runtime.plan-files-on-numpy-take-any-parameters",
        "planfile/in_numpy/contracts.py",
        "    if not is_right:",
        "    if is_right is None:",
        "A plan file may ask a kernel on NumPy for more than there is.",
        ("tests/planfile/test_numpy.py::test_parameters_that_break_a_contract_are_refused_before_they_run",),
    ),
    Mutation(
        "runtime.plan-files-on-numpy-have-more-steps",
        "planfile/in_numpy/machine.py",
        "if left < 0 or each.first + each.steps > node.steps or not each.steps:",
        "if not each.steps:",
        "Nothing limits the steps of a plan file's order.",
        ("tests/planfile/test_numpy.py::test_order_of_more_steps_than_there_are_is_refused",),
    ),
)
"""All of them."""
