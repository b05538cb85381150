"""The functions of `import kibi` that count and compare on the emulated core: tune, measure, verify."""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kibi.api import DEFAULT_TARGET, default_plan, processor_of
from kibi.dtypes import Array
from kibi.errors import InputError, TargetError, bounded
from kibi.ir import Graph, check_graph
from kibi.renames import renamed_keywords
from kibi.targets import Board, Memory, Target
from kibi.targets import board as board_named

if TYPE_CHECKING:
    from kibi.codegen import Library
    from kibi.engines.board_cycles import CountingPlace
    from kibi.engines.tuning import Tuning
    from kibi.planner.plan import Plan
    from kibi.reports.board_run import BoardRun
    from kibi.reports.measurement import Measurement
    from kibi.reports.verification import Verification


@renamed_keywords(optimize="goal")
@bounded
def tune(
    model: Graph,
    plan: "Plan | None" = None,
    *,
    target: str | Target | None = None,
    goal: str = "balanced",
    compiler: str = "zig",
    level: str = "s",
    memory: Memory | None = None,
    board: str | Board | None = None,
    gdb: str | None = None,
    load_into: str = "flash",
    serial: str | None = None,
) -> "Tuning":
    """Counts every kernel that may run a layer of a model on the emulated core, and chooses the best for each.

    With a board and its GDB server, or the serial port of a board with the program that `write_tuning_program` wrote, the cycles
    that the board counts decide.

    Args:
        model: the graph.
        plan: its plan; None: the default plan.
        target: the processor; None: the plan's, or Cortex-M4 without a plan.
        goal: `balanced` or `speed`: the fewest instructions, or cycles with a memory; `flash`: the least flash.
        compiler: `zig` (from pip), `gcc` (`arm-none-eabi-gcc`) or `clang` (with `ld.lld`).
        level: the compiler's: `0`, `1`, `2`, `3` or `s`.
        memory: how the core reads its flash at the target's clock, as in `kibi.board("rp2040").memory`; None: instructions decide.
        board: the board, by name or as data, whose core is the target; for `gdb` and `serial`.
        gdb: `HOST:PORT` of its GDB server; None: only the emulated core counts.
        load_into: where programs are loaded on the board: `flash` or `ram`.
        serial: its serial port: `PORT`, `PORT:BAUD`, or a URL as pyserial has them; None: as `gdb` says.

    Returns:
        The choice and the counts, for `plan`.

    Raises:
        TargetError: no such target, or nothing emulates it.
        InputError: there is no such goal, or both a GDB server and a port are given, or neither has a board.
        PlanError: the plan is not right for the model.
        ToolchainError: the compiler or pyserial is missing, or the compiler fails.
        EmulationError: a kernel goes wrong.
        BoardError: the board has no cycle counter, has another program, or something goes wrong there.
    """
    from kibi.engines.tuning import tune as count  # noqa: PLC0415
    from kibi.planner import validate  # noqa: PLC0415
    from kibi.selection import goal_named  # noqa: PLC0415

    check_graph(model)
    processor = processor_of(target or (plan.target if plan else DEFAULT_TARGET))
    wanted = goal_named(goal)
    if plan is not None:
        validate(model, plan)
    made = plan or default_plan(model, processor, goal)
    place = None if gdb is None and serial is None else _counting_place(board, gdb, serial, load_into, processor)
    return count(model, made, processor, wanted, compiler=compiler, level=level, memory=memory, place=place)


def _counting_place(
    board: str | Board | None, gdb: str | None, serial: str | None, load_into: str, processor: Target
) -> "CountingPlace":
    """The board that counts.

    Raises:
        InputError: no board was named, or both ways to reach it, or there is no such place.
        TargetError: there is no such board, or its core is another one.
    """
    from kibi.debugger import PLACES, Server  # noqa: PLC0415
    from kibi.engines.board_cycles import BoardPlace, SerialPlace  # noqa: PLC0415
    from kibi.serial_line import PortPlace  # noqa: PLC0415

    if board is None:
        raise InputError("gdb and serial are ways to reach a board. Name the board, as in board='stm32f446re'.")
    if gdb is not None and serial is not None:
        raise InputError("gdb and serial are two ways to reach one board. Give one of them.")
    if load_into not in PLACES:
        raise InputError(f"unknown place {load_into[:40]!r}. A program is loaded into {' or '.join(PLACES)}.")
    found = board_named(board) if isinstance(board, str) else board
    if found.core != processor.name:
        raise TargetError(f"the plan is for {processor.name}, but {found.name} has a {found.core}.")
    if serial is not None:
        return SerialPlace(found, PortPlace.named(serial))
    return BoardPlace(found, Server.named(gdb or ""), load_into)


def write_tuning_program(
    model: Graph,
    directory: str | os.PathLike[str],
    plan: "Plan | None" = None,
    *,
    target: str | Target | None = None,
    goal: str = "balanced",
    compiler: str = "zig",
    level: str = "s",
) -> "Library":
    """Writes a program that counts the cycles of every kernel that may run a layer, for the firmware of boards without a debugger.

    The program answers `tune` with `serial` through two functions of the firmware that move bytes. It has the model several
    times, as often as a layer has kernels.

    Args:
        model: the graph.
        directory: where to write; made when it is absent.
        plan: its plan, as for `tune`.
        target: the processor, as for `tune`.
        goal: `balanced` or `speed`, as for `tune`.
        compiler: of the emulated core's code, which tells how much stack the program needs.
        level: of the compiler.

    Returns:
        The library there.

    Raises:
        TargetError: no such target, or nothing emulates it.
        InputError: there is no such goal, bytes decide for it, each layer has one kernel, or the path is empty.
        PlanError: the plan is not right for the model.
        ToolchainError: the compiler is missing or fails.
        EmulationError: a kernel goes wrong.
        BoardError: no measuring program runs on the target.
        OutputError: the directory cannot be written.
    """
    from kibi.codegen import write  # noqa: PLC0415
    from kibi.debugger import processor_of as runs_on  # noqa: PLC0415
    from kibi.engines.board_cycles import trial_library  # noqa: PLC0415
    from kibi.engines.serial import serial_program  # noqa: PLC0415
    from kibi.engines.tuning import tuning_programs  # noqa: PLC0415
    from kibi.files import check_path  # noqa: PLC0415
    from kibi.planner import validate  # noqa: PLC0415
    from kibi.selection import Goal, goal_named  # noqa: PLC0415

    check_graph(model)
    folder = check_path(directory, "directory")
    processor = processor_of(target or (plan.target if plan else DEFAULT_TARGET))
    runs_on(processor.name, "the target")
    wanted = goal_named(goal)
    if wanted is Goal.FLASH:
        raise InputError("for the goal flash, bytes decide which kernel runs a layer: no board needs to count cycles.")
    if plan is not None:
        validate(model, plan)
    made = plan or default_plan(model, processor, goal)
    programs = tuning_programs(model, made, processor, wanted, compiler=compiler, level=level)
    if not programs:
        raise InputError(f"each layer of {model.name} has one kernel on {processor.name}: there is nothing to count.")
    return write(serial_program(trial_library(programs, processor), max(each.stack_bytes for each in programs)), folder)


@renamed_keywords(optimize="level")
@bounded
def measure(
    library: "Library",
    *,
    compiler: str = "zig",
    level: str = "s",
    seed: int = 0,
    runs: int | None = None,
    oracle: bool = True,
    memory: Memory | None = None,
    code_in_ram: bool = False,
) -> "Measurement":
    """Compiles and links a library, and runs it on the emulated core of its target.

    Args:
        library: what `compile` gave.
        compiler: `zig` (from pip), `gcc` (`arm-none-eabi-gcc`) or `clang` (with `ld.lld`).
        level: of the compiler: `0`, `1`, `2`, `3` or `s`.
        seed: the seed of the first random inputs.
        runs: how many inputs to try, of this seed and the next ones; each figure is the most that one takes. None: one, but several
            where elements of the input choose what runs.
        oracle: True to compare with TensorFlow Lite Micro's Python build where it is installed. That is native code that does
            not check a model as Kibi does, in a child process: give False for files that you do not trust.
        memory: how the core reads its flash, as in `kibi.board("stm32l4r5zi").memory`, at the clock of the library's target.
            None: cycles are those of a flash without wait states.
        code_in_ram: True if code runs from a RAM without wait states, with its literals; other constants stay in flash.

    Returns:
        The costs of one inference; where TFLM's build failed, `oracle_failure` says how.

    Raises:
        InputError: seed or runs are out of range.
        ToolchainError: the compiler is missing or fails.
        EmulationError: the core stopped, or the target is not emulated.
        MismatchError: TensorFlow Lite Micro's outputs differ.
    """
    from kibi.codegen import check_library  # noqa: PLC0415
    from kibi.reports.measurement import measure as take  # noqa: PLC0415

    check_library(library)
    return take(
        library, compiler=compiler, level=level, seed=seed, runs=runs, oracle=oracle, memory=memory, code_in_ram=code_in_ram,
    )  # fmt: skip


@bounded
def measure_on_board(
    library: "Library",
    board: str | Board,
    server: str,
    *,
    measured: "Measurement | None" = None,
    load_into: str = "flash",
    seconds: float | None = None,
    compiler: str = "zig",
    level: str = "s",
    seed: int = 0,
    runs: int | None = None,
) -> "BoardRun":
    """Runs a library on a board, through a GDB server, and compares bits, cycles and stack with those of the emulated core.

    The program replaces what is at the beginning of the board's flash, or of its RAM. The board is left halted.

    Args:
        library: what `compile` gave, for the board's target.
        board: the board, or its name, or the path of a TOML file; with the addresses of its memories.
        server: `HOST:PORT` of a GDB server that has access to the board.
        measured: what `measure` gave for this library, compiler and level; None: it is measured.
        load_into: `flash`; or `ram`, for code and constants, too, which leaves the flash as it is.
        seconds: how long one inference may take on the board; None: 30 s, or a hundred times the estimate.
        compiler: `zig` (from pip), `gcc` (`arm-none-eabi-gcc`) or `clang` (with `ld.lld`).
        level: of the compiler: `0`, `1`, `2`, `3` or `s`.
        seed: the seed of the first random inputs; with `measured`, those that were measured are run.
        runs: how many inputs to try, as of `measure`.

    Returns:
        What the board did, beside what the emulated core did.

    Raises:
        InputError: the server, the place, the seed or the runs have another form.
        TargetError: there is no such board, or it has another core than the library's.
        ToolchainError: the compiler is missing or fails.
        EmulationError: the core stopped, or the target is not emulated.
        BoardError: there is no such server, the link broke, the core is another one or faulted, or memory is too little.
    """
    from kibi.codegen import check_library  # noqa: PLC0415
    from kibi.reports.board_run import run_on_board  # noqa: PLC0415

    check_library(library)
    chosen = board if isinstance(board, Board) else board_named(board)
    found = measured or measure(
        library, compiler=compiler, level=level, seed=seed, runs=runs, oracle=False, memory=chosen.memory
    )
    return run_on_board(
        library, chosen, server, found, load_into=load_into, seconds=seconds, compiler=compiler, level=level,
    )  # fmt: skip


def write_serial_program(
    library: "Library",
    directory: str | os.PathLike[str],
    *,
    measured: "Measurement | None" = None,
    compiler: str = "zig",
    level: str = "s",
) -> "Library":
    """Writes a library with a program that measures its model, for the firmware of boards that no debugger reaches.

    The program answers `measure_over_serial` through two functions of the firmware that move bytes.

    Args:
        library: what `compile` gave, with one model.
        directory: where to write; made when it is absent.
        measured: what `measure` gave for this library, whose stack the program's follows; None: it is measured.
        compiler: as of `measure`.
        level: as of `measure`.

    Returns:
        The library there.

    Raises:
        InputError: the library is of several models, or the path is empty.
        ToolchainError: the compiler is missing or fails.
        EmulationError: the core stopped, or the target is not emulated.
        BoardError: no measuring program runs on the library's target.
        OutputError: the directory cannot be written.
    """
    from kibi.codegen import check_library, write  # noqa: PLC0415
    from kibi.engines.serial import serial_program  # noqa: PLC0415
    from kibi.files import check_path  # noqa: PLC0415

    check_library(library)
    folder = check_path(directory, "directory")
    if len(library.models) > 1:
        raise InputError(f"a measuring program has one model; this library has {len(library.models)}.")
    found = measured or measure(library, compiler=compiler, level=level, oracle=False)
    return write(serial_program(library, found.stack_bytes), folder)


def measure_over_serial(
    library: "Library",
    board: str | Board,
    port: str,
    *,
    measured: "Measurement | None" = None,
    seconds: float | None = None,
    compiler: str = "zig",
    level: str = "s",
    seed: int = 0,
    runs: int | None = None,
) -> "BoardRun":
    """Runs a library on a board that has its measuring program, and compares bits, cycles and stack with the emulated core's.

    Args:
        library: what `compile` gave, with the options of the library that `write_serial_program` took.
        board: the board, or its name, or the path of a TOML file.
        port: the serial port: `PORT`, `PORT:BAUD`, or a URL as pyserial has them, such as `socket://localhost:5555`.
        measured: what `measure` gave for this library; None: it is measured.
        seconds: how long one inference may take on the board; None: 30 s, or a hundred times the estimate.
        compiler: of the emulated core's code, as of `measure`.
        level: of the compiler, as of `measure`.
        seed: the seed of the first random inputs; with `measured`, those that were measured are run.
        runs: how many inputs to try, as of `measure`.

    Returns:
        What the board did, beside what the emulated core did.

    Raises:
        InputError: the port, the seed or the runs have another form.
        TargetError: there is no such board, or it has another core than the library's.
        ToolchainError: pyserial or the compiler is missing, or the compiler fails.
        EmulationError: the core stopped, or the target is not emulated.
        BoardError: no such port, no measuring program, that of another library, another core, or the program does not answer.
    """
    from kibi.codegen import check_library  # noqa: PLC0415
    from kibi.reports.board_run import run_over_serial  # noqa: PLC0415

    check_library(library)
    chosen = board if isinstance(board, Board) else board_named(board)
    found = measured or measure(
        library, compiler=compiler, level=level, seed=seed, runs=runs, oracle=False, memory=chosen.memory
    )
    return run_over_serial(library, chosen, port, found, seconds=seconds)


@bounded
def verify(
    model: Graph,
    plan: "Plan | None" = None,
    *,
    target: str | Target = DEFAULT_TARGET,
    inputs: Sequence[Sequence[Array]] = (),
    seed: int = 0,
    runs: int = 3,
    compiler: str = "zig",
    original: Graph | None = None,
    oracle: bool = True,
    litert: bool = False,
    plan_file: bool = False,
) -> "Verification":
    """Runs the same inputs in Python, in C on this machine, in C on the emulated core, and in TFLM where it is installed.

    Args:
        model: the graph.
        plan: its plan; None: the default one for the target.
        target: the processor to emulate; `host`: none.
        inputs: runs to try; none: `runs` random ones from `seed`.
        seed: the seed of the random inputs.
        runs: how many random inputs.
        compiler: for the device.
        original: the graph that `simplify` made the model of; the outputs of both are compared, and TFLM's other tensors are
            compared with those of this graph. None: the model itself.
        oracle: True to compare with TFLM's build where it is installed. That is native code that does not check a model as Kibi
            does, in a child process: give False for files that you do not trust.
        litert: True to say how LiteRT's outputs differ where it is installed, too; that is no failure, for it rounds otherwise.
        plan_file: True to run the model's plan file, too, by a core on this machine and on the emulated core.

    Returns:
        What was compared, and what differed; where TFLM's build failed, `oracle_failure` says how.
    """
    from kibi.reports.verification import verify as compare  # noqa: PLC0415

    check_graph(model)
    processor = processor_of(target)
    made = plan or default_plan(model, processor)
    found = compare(
        model,
        made,
        processor,
        inputs=inputs,
        seed=seed,
        runs=runs,
        compiler=compiler,
        original=original,
        oracle=oracle,
        litert=litert,
    )
    if not plan_file:
        return found
    from kibi.reports.plan_file_costs import with_plan_file  # noqa: PLC0415

    return with_plan_file(found, model, made, processor, inputs=inputs, seed=seed, compiler=compiler)
