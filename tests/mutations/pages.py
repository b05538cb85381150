"""Bugs in the pages of reports."""

from tests.mutations.mutation import Mutation

_HTML, _RECORD, _MACHINE = "tests/pages/test_html.py", "tests/pages/test_record.py", "tests/pages/test_machine.py"

PAGES = (
    Mutation(
        "pages.text-of-models-is-markup",
        "pages/html.py",
        "autoescape=True,",
        "autoescape=False,",
        "A name in a model becomes elements of the page.",
        (_HTML, "-k", "any_text"),
    ),
    Mutation(
        "pages.record-ends-its-element",
        "text/markup.py",
        'for character in "<>&":',
        'for character in ">&":',
        "A name in a model ends the record, and goes on as a script.",
        (_HTML, "-k", "any_text"),
    ),
    Mutation(
        "pages.large-models-stay-in",
        "pages/html.py",
        'if len(page) <= MOST_BYTES or "left_out" in machine:',
        "if len(page) > 0:",
        "A report may have any size.",
        (_HTML, "-k", "too_large"),
    ),
    Mutation(
        "pages.first-row-tells-for-all",
        "pages/timeline.py",
        "rows[buffer.first_row : buffer.first_row + buffer.rows].max(initial=-1)",
        "rows[buffer.first_row : buffer.first_row + 1].max(initial=-1)",
        "A buffer of several rows is said to be read no longer than its first row.",
        (_RECORD, "-k", "last_reads"),
    ),
    Mutation(
        "pages.memories-are-not-above-one-another",
        "pages/answer.py",
        "highest_stretch(stacked(plan))",
        "highest_stretch(plan)",
        "Bytes of different memories count as shared in the words on the peak.",
        (_RECORD, "-k", "several_memories"),
    ),
    Mutation(
        "pages.lanes-are-taken-over-too-early",
        "pages/layers.py",
        "if source < number and busy.get(lanes[source]) == number]",
        "if source < number]",
        "A line of the graph passes through an operator that does not read it.",
        (_RECORD, "-k", "lines_of_the_graph"),
    ),
    Mutation(
        "pages.what-fits-exactly-is-missing",
        "pages/answer.py",
        "for name, used, limit in known if used > limit]",
        "for name, used, limit in known if used >= limit]",
        "A model that takes all that there is is said to lack zero bytes.",
        (_RECORD, "-k", "limits"),
    ),
    Mutation(
        "pages.variables-are-not-reset",
        "pages/machine.py",
        '*(["reset"] if model.variable_bytes else [])',
        '*([] if model.variable_bytes else ["reset"][:0])',
        "The golden input of a page begins with what an earlier inference has left.",
        (_MACHINE, "-k", "variables"),
    ),
    Mutation(
        "pages.energy-of-another-clock",
        "pages/energy.py",
        "if measured.target.clock_hz != board.clock_hz:",
        "if False:",
        "A current of one clock is multiplied with cycles of another.",
        ("tests/pages/test_energy.py", "-k", "missing"),
    ),
    Mutation(
        "pages.events-of-unknown-runs",
        "pages/measured.py",
        "self.counts[event.type] += 1",
        "self.counts[event.type] = 1",
        "An event that occurs often is counted once.",
        ("tests/pages/test_events.py",),
    ),
)
