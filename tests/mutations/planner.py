"""Bugs in the planner: lifetimes, rows in place, orders, placement, bounds, regions, and what should notice them."""

from tests.mutations.mutation import Mutation

_LIFETIMES = (
    Mutation(
        "planner.tensor-dies-a-step-early",
        "planner/lifetimes.py",
        "end = max(end, max(0, start) + 1, int(history.last_used.max(initial=0)) + 1)",
        "end = max(end, max(0, start) + 1, int(history.last_used.max(initial=0)))",
        "A whole tensor does not live through the last step that reads it.",
        ("tests/planner/test_lifetimes.py",),
    ),
    Mutation(
        "planner.joined-steps-are-longer-than-others",
        "planner/joined_steps.py",
        "if found.pieces * _PIECE_INSTRUCTIONS + moves > most:",
        "if found is None:",
        "A step that copies all rows takes longer than the plan's longest step did.",
        ("tests/planner/test_joined_steps.py",),
    ),
    Mutation(
        "planner.joined-steps-die-with-their-first-row",
        "planner/joined_steps.py",
        "end=now[each.end - 1] + 1",
        "end=now[each.start] + 1",
        "Rows die with the step that makes them.",
        ("tests/planner/test_joined_steps.py",),
    ),
    Mutation(
        "planner.joined-rows-may-be-apart",
        "planner/simulation.py",
        "if access.is_joined and tensor.index in self.rows.first:",
        "if access.is_joined and tensor.index < 0:",
        "A plan is right whose kernel finds rows where they are not.",
        ("tests/planner/test_joined_steps.py",),
    ),
    Mutation(
        "planner.row-dies-with-its-first-reader",
        "planner/lifetimes.py",
        "max(last_used[row:after]) + 1",
        "min(last_used[row:after]) + 1",
        "Rows that one step makes all die with the first of them.",
        ("tests/planner/test_lifetimes.py",),
    ),
    Mutation(
        "planner.accumulator-dies-a-step-early",
        "planner/lifetimes.py",
        "yield Buffer(None, node, 0, 0, 0, size_bytes, alignment, first, last + 1)",
        "yield Buffer(None, node, 0, 0, 0, size_bytes, alignment, first, max(first + 1, last))",
        "An accumulator does not live through the step that reads its sums.",
        ("tests/planner/test_accumulating.py",),
    ),
    Mutation(
        "planner.shared-scratch-is-that-of-the-first",
        "planner/lifetimes.py",
        "max(largest, size_bytes), max(most, alignment)",
        "largest, max(most, alignment)",
        "Scratch that nodes share is as large as the first one needs, not the largest.",
        ("tests/planner/test_lifetimes.py",),
    ),
    Mutation(
        "planner.split-inputs-are-not-aligned",
        "planner/lifetimes.py",
        "pinned_bytes += -pinned_bytes % alignment",
        "pinned_bytes += 0",
        "An input of words may begin behind an odd number of bytes.",
        ("tests/planner/test_lifetimes.py",),
    ),
    Mutation(
        "planner.scratch-of-subgraphs-is-the-first-ones",
        "planner/subgraphs.py",
        "yield (max(plan.arena_bytes for plan in own), max(4, alignment)) if own else None",
        "yield (own[0].arena_bytes, max(4, alignment)) if own else None",
        "A branch has room for its first graph, though the other one may be larger.",
        ("tests/ops/test_control_flow.py", "-k", "larger_of_its_graphs"),
    ),
)

_IN_PLACE = (
    Mutation(
        "planner.in-place-distance-is-a-byte-short",
        "planner/in_place.py",
        "start + np.minimum(self.overlap, stop - start) - low, -size)",
        "start + np.minimum(self.overlap, stop - start) - low - 1, -size)",
        "An output may begin a byte nearer to the row it overwrites than its kernel allows.",
        ("tests/planner/test_in_place.py",),
    ),
    Mutation(
        "planner.in-place-forgets-later-readers",
        "planner/in_place.py",
        "(self.others[outputs] >= ends)",
        "(self.others[outputs] + 1 >= ends)",
        "A row is overwritten though another node still reads it.",
        ("tests/planner/test_in_place.py",),
    ),
    Mutation(
        "planner.in-place-over-a-model-output",
        "planner/in_place.py",
        "if overlap is None or tensor.index in graph.outputs or output is None or held is None:",
        "if overlap is None or output is None or held is None:",
        "An output of the model that is read on is overwritten.",
        ("tests/planner/test_in_place.py",),
    ),
)

_ORDERS = (
    Mutation(
        "planner.bound-adds-what-does-not-meet",
        "planner/order/row_bound.py",
        "return max(given, taken, *(int(each.max()) for each in needs))",
        "return max(given + taken, *(int(each.max()) for each in needs))",
        "The lower bound of orders adds inputs and outputs, which need not live at once.",
        ("tests/planner/test_row_order.py", "-k", "best_of_all or bounds_and_cuts"),
    ),
    Mutation(
        "planner.order-forgets-all-readers-but-the-last",
        "planner/order/row_precedence.py",
        "users[place] |= 1 << (first[reader] + use) if use >= 0 else 0",
        "users[place] = 1 << (first[reader] + use) if use >= 0 else 0",
        "The search over orders lets rows die though others still read them.",
        ("tests/planner/test_row_order.py", "-k", "best_of_all or bounds_and_cuts"),
    ),
    Mutation(
        "planner.order-waits-for-a-step-too-few",
        "planner/order/row_steps.py",
        "wanted: Ints = np.where(last_rows >= 0, made_by[last_rows] + 1, 0)",
        "wanted: Ints = np.where(last_rows >= 0, made_by[last_rows], 0)",
        "A step may run before the last row that it reads is made.",
        ("tests/planner/test_row_order.py",),
    ),
)

_PLACEMENT = (
    Mutation(
        "planner.check-of-overlaps-passes-what-lies-inside",
        "planner/placement/check.py",
        "if low < high_ and low_ < high:",
        "if low < low_ and low_ < high:",
        "The second opinion on placements sees no overlap of a stretch that begins within another.",
        ("tests/planner/test_placement_file.py", "tests/planner/test_placement_items.py"),
    ),
    Mutation(
        "planner.first-fit-forgets-alignment",
        "planner/placement/first_fit.py",
        "offset = high + -high % alignment",
        "offset = high",
        "An item behind another one is not aligned.",
        ("tests/planner/test_placement.py", "tests/planner/test_work.py"),
    ),
    Mutation(
        "planner.native-first-fit-looks-below-alone",
        "planner/placement/search_c/first_fit.c",
        "placed->levels[k].bottom < offset + own->size; k++)",
        "placed->levels[k].bottom <= offset; k++)",
        "An item is placed where its end lies on one that begins above it.",
        ("tests/planner/test_work.py", "-k", "native_first_fit"),
    ),
    Mutation(
        "planner.native-search-forgets-the-last-piece",
        "planner/placement/search_c/pairs.c",
        "const int32_t i_end = problem->piece_start[one + 1];",
        "const int32_t i_end = problem->piece_start[one + 1] - 1;",
        "Two items are not seen to meet in the last piece of the first one's life.",
        ("tests/planner/test_work.py", "tests/planner/test_placement_items.py"),
    ),
    Mutation(
        "planner.bound-ignores-shared-bytes",
        "planner/placement/problem.py",
        "less = sum(most for from_, to, most in shared if from_ <= start and end <= to)",
        "less = max((most for from_, to, most in shared if from_ <= start and end <= to), default=0)",
        "The lower bound counts bytes that an item shares with several others, so that it may be too high.",
        ("tests/planner/test_placement_items.py", "tests/planner/test_in_place.py"),
    ),
    Mutation(
        "planner.bound-rounds-the-last-item-up",
        "planner/placement/problem.py",
        "bound = max(bound, int((rounded - largest).max(initial=0)))",
        "bound = max(bound, int(rounded.max(initial=0)))",
        "The lower bound aligns the end of the last item, too.",
        ("tests/planner/test_placement.py", "tests/planner/test_placement_items.py"),
    ),
    Mutation(
        "planner.mirror-turns-starts-into-ends",
        "planner/placement/mirror.py",
        "return ending, ceiling - offsets - self._problem.sizes, work",
        "return ending, ceiling - offsets, work",
        "Items found upside down are placed by their ends.",
        ("tests/planner/test_placement_sweep.py", "-k", "mirror"),
    ),
)

_REGIONS = (
    Mutation(
        "planner.region-bound-keeps-the-refund",
        "planner/regions/bound.py",
        "ceil(float(self.reduced.min(axis=1).sum()) - self.refund - self.slack)",
        "ceil(float(self.reduced.min(axis=1).sum()) - self.slack)",
        "The bound of the cost in regions leaves out what capacities give back, so that it is too high.",
        ("tests/planner/test_regions.py", "-k", "capacities_give_back"),
    ),
    Mutation(
        "planner.region-check-passes-scattered-rows",
        "planner/regions/check.py",
        "if len(names) > 1 and 0 <= index < len(graph.tensors):",
        "if len(names) > 2 and 0 <= index < len(graph.tensors):",
        "The validator accepts a tensor whose rows lie in two regions.",
        ("tests/planner/test_regions.py", "-k", "two_regions"),
    ),
    Mutation(
        "planner.region-check-forgets-to-align-weights",
        "planner/regions/check.py",
        "start = -(-use.used_bytes // alignment) * alignment if use.weights_bytes else use.used_bytes",
        "start = use.used_bytes",
        "The validator lets weights begin where no array can.",
        ("tests/planner/test_regions.py", "-k", "where_an_array_can"),
    ),
)

_VALIDATION = (
    Mutation(
        "planner.validation-accepts-too-little-scratch",
        "planner/validation.py",
        "if given < needed:",
        "if needed and not given:",
        "The validator asks whether a node has scratch, not whether it has enough.",
        ("tests/planner/test_validation.py",),
    ),
    Mutation(
        "planner.validation-accepts-lives-beyond-the-end",
        "planner/validation.py",
        "if not 0 <= buffer.start < buffer.end <= steps:",
        "if not 0 <= buffer.start < buffer.end <= steps + 1:",
        "The validator accepts a buffer that lives longer than the plan.",
        ("tests/planner/test_validation.py",),
    ),
    Mutation(
        "planner.simulation-lets-output-come-too-near",
        "planner/simulation.py",
        "if overlap is None or low - first < overlap:",
        "if overlap is None or low - first < overlap - 1:",
        "The simulation accepts an output a byte nearer to its input than the kernel allows.",
        ("tests/planner/test_in_place.py",),
    ),
    Mutation(
        "planner.simulation-forgets-the-first-sums",
        "planner/simulation.py",
        "if row > 0:",
        "if row > 1:",
        "The simulation does not see that sums were overwritten between the first step and the second.",
        ("tests/planner/test_accumulating.py",),
    ),
)

_SHARED = (
    Mutation(
        "planner.joint-file-may-give-a-models-bytes-away",
        "planner/joint_file.py",
        "lives = (start + first < each.end) & (end + first > each.start)",
        "lives = (start + first < each.start) & (end + first > each.end)",
        "A joint plan is right whose buffer shares bytes with one of a model that begins or ends in its time.",
        ("tests/planner/test_joint_file.py",),
    ),
    Mutation(
        "planner.lives-of-all-regions-are-in-one",
        "planner/lives.py",
        "if buffer.size_bytes and buffer.region == wanted:",
        "if buffer.size_bytes:",
        "A checkpoint of one region saves bytes at the offsets of another.",
        ("tests/engines/test_pauses.py", "-k", "in_regions"),
    ),
)

_WINDOWS = (
    Mutation(
        "planner.part-has-the-scales-of-the-first",
        "planner/channel_parts.py",
        "cut = Quantization(scales.scales[channels], scales.zero_points[channels], scales.axis)",
        "cut = Quantization(scales.scales[: data.shape[axis]], scales.zero_points[channels], scales.axis)",
        "The channels of a layer's second part are scaled as those of its first.",
        ("tests/planner/test_channel_parts.py",),
    ),
    Mutation(
        "planner.stripe-lacks-its-last-column",
        "ir/rows.py",
        "return max(0, first * self.stride - self.pad), min(width, last + 1)",
        "return max(0, first * self.stride - self.pad), min(width, last)",
        "Windows at the right border of a stripe read padding instead of the image.",
        ("tests/planner/test_stripes.py", "-k", "under_the_windows"),
    ),
    Mutation(
        "planner.stripe-reads-the-first-columns",
        "ops/windows/window.py",
        "return self.left_out * self.channels, (self.left_out + self.input_width) * self.channels",
        "return 0, self.input_width * self.channels",
        "Pointers to rows lead to the first column, whichever the stripe begins with.",
        ("tests/planner/test_stripes.py", "-k", "operator_in_stripes"),
    ),
    Mutation(
        "planner.stage-whose-image-is-read-outside",
        "planner/stripes.py",
        "if view.output is not last and view.output.index in seen:",
        "if view.output is not last and view.output.index < 0:",
        "A node after the stage reads an image that stripes no longer make.",
        ("tests/planner/test_stripes.py", "-k", "wrong_stages"),
    ),
    Mutation(
        "planner.part-of-a-layer-writes-to-the-caller",
        "planner/channel_parts.py",
        'made = Tensor(len(tensors), f"{output.name}_part{part}", kind)',
        'made = replace(output, index=len(tensors), name=f"{output.name}_part{part}", type=kind)',
        "The parts of a layer whose output is in the caller's buffer need buffers of the caller's, too.",
        ("tests/planner/test_channel_parts.py",),
    ),
    Mutation(
        "planner.transfer-crosses-the-end-of-an-inference",
        "planner/read_ahead.py",
        "np.maximum(after, last_end[fetched] + 1)",
        "np.maximum(after, 0)",
        "An operator ends the inference while a transfer runs, which nobody waits for.",
        ("tests/planner/test_read_ahead.py", "-k", "may_end"),
    ),
    Mutation(
        "planner.validator-allows-two-transfers",
        "planner/validation.py",
        "            if running is not None:",
        "            if running == (-1, row):",
        "A plan may start a transfer while another one runs.",
        ("tests/planner/test_read_ahead.py", "-k", "order_of_transfers"),
    ),
    Mutation(
        "planner.window-is-forgotten-in-the-bytes-of-an-early-start",
        "planner/read_ahead.py",
        "most = limit_bytes - int(self.sizes[number]) - STATUS_BYTES",
        "most = limit_bytes - STATUS_BYTES",
        "A transfer starts where its window does not fit beside what lives.",
        ("tests/planner/test_read_ahead.py", "-k", "as_the_bytes_allow"),
    ),
    Mutation(
        "planner.scratch-grows-into-rows-that-live",
        "planner/roomy_scratch.py",
        "return one.start < other.end and other.start < one.end",
        "return one.start >= other.start and one.start < other.end",
        "Scratch grows into bytes that are used in later steps of its life.",
        ("tests/planner/test_roomy_scratch.py",),
    ),
)

PLANNER = (*_LIFETIMES, *_IN_PLACE, *_ORDERS, *_PLACEMENT, *_REGIONS, *_VALIDATION, *_SHARED, *_WINDOWS)
"""All of them."""
