"""Bugs in sweeps: rows that are lost, kept or taken for others, and best rows that are not."""

from tests.mutations.mutation import Mutation

SWEEPS: tuple[Mutation, ...] = (
    Mutation(
        "sweeps.key-does-not-cover-the-level",
        "sweeps/task.py",
        '("target", "goal", "level", "weights"',
        '("target", "goal", "weights"',
        "A row that was measured at another level of the compiler is taken for this one.",
        ("tests/sweeps/test_run.py", "-k", "key_covers"),
    ),
    Mutation(
        "sweeps.failed-rows-are-kept",
        "sweeps/rows.py",
        "return bool(self.key) and self.outcome.status is not Status.FAILED",
        "return bool(self.key)",
        "A row that failed, for instance without a compiler, is never tried again.",
        ("tests/sweeps/test_run.py", "-k", "failed_rows"),
    ),
    Mutation(
        "sweeps.incomplete-line-stays",
        "sweeps/journal.py",
        'end = data.rindex(b"\\n") + 1',
        "end = len(data)",
        "What a killed process left of a line spoils the next one.",
        ("tests/sweeps/test_table.py", "-k", "incomplete_line"),
    ),
    Mutation(
        "sweeps.journal-without-rows-stays",
        "sweeps/journal.py",
        "if not journal.has_rows:",
        "if False:",
        "A sweep that could not begin leaves a file.",
        ("tests/sweeps/test_table.py", "-k", "journal_without_rows"),
    ),
    Mutation(
        "sweeps.texts-of-tables-have-any-length",
        "sweeps/table.py",
        "_MOST_TEXT_BYTES = 1 << 16",
        "_MOST_TEXT_BYTES = 1 << 40",
        "A table of some kilobytes takes gigabytes of memory.",
        ("tests/sweeps/test_table.py", "-k", "much_memory"),
    ),
    Mutation(
        "sweeps.row-without-a-figure-is-in-the-budget",
        "sweeps/best.py",
        "return all(value is not None and value <= limit",
        "return all(value is None or value <= limit",
        "A row that lacks the figure of a limit keeps to it.",
        ("tests/sweeps/test_best.py", "-k", "lacks_a_figure"),
    ),
    Mutation(
        "sweeps.all-tasks-are-sent-at-once",
        "clusters/cluster.py",
        "while len(running) >= most:",
        "while len(running) >= 1_000_000:",
        "The memory of the scheduler grows with the number of tasks.",
        ("tests/clusters/test_cluster.py", "-k", "when_there_is_room"),
    ),
    Mutation(
        "sweeps.parts-are-counted-as-they-end",
        "reports/evaluated_parts.py",
        "found = held.pop(following)",
        "found = held.pop(max(held))",
        "The worst inputs of an evaluation on a cluster have the numbers of others.",
        ("tests/reports/test_evaluated_parts.py", "-k", "figures_of_one_machine"),
    ),
)
