"""The plugin for pytest: the fixture `kibi_measure`. Where Kibi is installed, pytest finds it by its entry point.

Nothing of Kibi is loaded before a test asks for the fixture.
"""

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from kibi.reports.measurement import Measurement
    from kibi.targets import Memory, Target


class Measure:
    """What the fixture gives: a function that measures models, and remembers what it has measured."""

    def __init__(self) -> None:
        self._known: dict[tuple[object, ...], Measurement] = {}

    def __call__(
        self,
        path: str | os.PathLike[str],
        *,
        target: str | None = None,
        board: str | os.PathLike[str] | None = None,
        goal: str = "balanced",
        granularity: str = "row",
        weights: str = "flash",
        compiler: str = "zig",
        level: str = "s",
        runs: int | None = None,
        oracle: bool = False,
    ) -> "Measurement":
        """Measures a model on an emulated core.

        Args:
            path: of a model, as for `kibi.load`.
            target: the processor; None: that of the board, or Cortex-M4.
            board: a board instead, by name or as a TOML file.
            goal: of the plan, as for `kibi.plan`; also `granularity` and `weights`.
            granularity: as above.
            weights: as above.
            compiler: as for `kibi.measure`; also `level`, `runs` and `oracle`.
            level: as above.
            runs: as above.
            oracle: as above.

        Returns:
            The measurement: `ram_bytes`, `flash_bytes`, `instructions`, `bit_exact`, `ops` and so on.

        Raises:
            KibiError: the model cannot be measured there.
        """
        from hashlib import sha256  # noqa: PLC0415 - see the module's docstring, here and below

        from kibi.frontends.model_file import read_model  # noqa: PLC0415

        processor, memory = _processor(target, board)
        plan = {"goal": goal, "granularity": granularity, "weights": weights}
        run = {"compiler": compiler, "level": level, "runs": runs, "oracle": oracle}
        where = (processor.name, processor.clock_hz, memory and memory.name)
        key = (sha256(read_model(path)).digest(), *where, *plan.values(), *run.values())
        if key not in self._known:
            self._known[key] = _measured(path, processor, memory, plan, run)
        return self._known[key]


@pytest.fixture(scope="session")
def kibi_measure() -> Measure:
    """A function that measures a model on an emulated core. In one session, each model is measured once with the same options.

    For example: `assert kibi_measure("model.tflite", board="rp2040").ram_bytes <= 16_384`.
    """
    return Measure()


def _processor(target: str | None, board: str | os.PathLike[str] | None) -> "tuple[Target, Memory | None]":
    """The processor, at the board's clock, and how it reads the board's flash; None for a flash without wait states.

    Raises:
        TargetError: there is no such target or board, or the board has another processor.
    """
    import kibi  # noqa: PLC0415
    from kibi.errors import TargetError  # noqa: PLC0415

    if board is None:
        return kibi.target(target or "cortex-m4"), None
    found = kibi.board(board)
    if target is not None and target != found.core:
        raise TargetError(
            f"board {found.name!r} has a {found.core}, but target is {target!r}. Leave one of the two out."
        )
    return found.target, found.memory


def _measured(
    path: str | os.PathLike[str],
    target: "Target",
    memory: "Memory | None",
    plan: Mapping[str, str],
    run: Mapping[str, object],
) -> "Measurement":
    import kibi  # noqa: PLC0415
    from kibi.files import temporary_folder  # noqa: PLC0415

    graph = kibi.simplify(kibi.load(path), goal=plan["goal"])
    with temporary_folder() as folder:
        made = kibi.plan(graph, target, **plan)  # type: ignore[arg-type]  # each value is a text
        library = kibi.compile(graph, made, folder, target=target, package=None)
        return kibi.measure(library, memory=memory, **run)  # type: ignore[arg-type]  # each value has the type of its option
