"""The function of `import kibi` for the C library of programs by hand."""

import os
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kibi.errors import bounded
from kibi.targets import Target
from kibi.targets import target as target_named

if TYPE_CHECKING:
    from kibi.eager.program import Program


@bounded
def compile_eager(
    directory: str | os.PathLike[str],
    *,
    operators: Collection[str] | None = None,
    program: "Program | Sequence[Program]" = (),
    target: str | Target = "cortex-m4",
    command: str | None = None,
) -> tuple[Path, ...]:
    """Writes the C library for programs by hand: arenas, handles, tensors, operators, and recorded programs as functions.

    Args:
        directory: where to write; made when it is absent.
        operators: names of operators, such as `conv2d`; None: those that the programs call, or all if there is no program.
        program: what `kibi.eager.record` recorded, or several of these.
        target: the processor, which chooses the kernels.
        command: what stands in each file's first line; None: the equal `kibi eager` line.

    Returns:
        The paths of all files.

    Raises:
        TargetError: no such target.
        InputError: no operator of a name, or a program does what C cannot.
        OutputError: the directory cannot be written.
    """
    from kibi.codegen.earlier import obsolete_files  # noqa: PLC0415 - see kibi.api
    from kibi.eager.program import Program  # noqa: PLC0415
    from kibi.eager_c.library import eager_files  # noqa: PLC0415
    from kibi.files import check_path, write_folder  # noqa: PLC0415

    folder = check_path(directory, "directory")
    processor = target if isinstance(target, Target) else target_named(target)
    programs = (program,) if isinstance(program, Program) else tuple(program)
    named = "" if operators is None else "".join(f" --operator {name}" for name in operators)
    line = command or f"kibi eager --target {processor.name}{named}"
    files = eager_files(operators, programs, processor, line)
    write_folder(folder, files, obsolete_files(folder, files))
    return tuple(folder / name.path for name in files)
