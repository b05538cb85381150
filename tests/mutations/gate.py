"""Bugs in the gate and in what is said of boards: models that are too large and pass."""

from tests.mutations.mutation import Mutation

GATE: tuple[Mutation, ...] = (
    Mutation(
        "gate.recorded-figures-may-double",
        "gate/figures.py",
        "float(int(exact * (1 + growth)))",
        "float(int(exact * (2 + growth)))",
        "A model that takes twice as many instructions as recorded passes.",
        ("tests/cli/test_check.py", "-k", "growth_against"),
    ),
    Mutation(
        "gate.accuracy-is-a-ceiling",
        "gate/figures.py",
        'return self.unit in ("part", "bits")',
        'return self.unit == "bits"',
        "A model that lost its accuracy passes, and a good one does not.",
        ("tests/gate/test_writers.py", "-k", "reason_says"),
    ),
    Mutation(
        "gate.board-has-any-memory",
        "gate/checking.py",
        "memories = {} if place.board is None else _memories(place)",
        "memories: dict[str, float] = {}",
        "A model that the board cannot hold passes where no budget is given.",
        ("tests/cli/test_check.py", "-k", "hold_end_well"),
    ),
    Mutation(
        "gate.functions-are-data",
        "gate/spec.py",
        "is_data = path.is_dir() or path.suffix.lower()",
        "is_data = True or path.suffix.lower()",
        "A kibi.toml names a Python function as its data, which runs when the file is checked.",
        ("tests/gate/test_spec.py", "-k", "refused_with_model"),
    ),
    Mutation(
        "reports.arena-is-split-over-ranges",
        "reports/board_fit.py",
        "return not self.arena_missing_bytes and not any(",
        "return not any(",
        "An arena that no range of the board's RAM holds is said to fit.",
        ("tests/cli/test_boards.py", "-k", "does_not_fit"),
    ),
)
