"""Kibi fits neural networks into kibibytes.

    import kibi

    model = kibi.load("model.tflite")                      # graph, verified
    plan = kibi.plan(model, target="cortex-m4")            # memory, to the byte
    out = kibi.run(model, plan, inputs)                    # bit-exact, inside the planned arena
    lib = kibi.compile(model, plan, "build/")              # C99 files
    info = kibi.measure(lib)                               # emulated: instructions, stack, flash, RAM

`kibi.simplify(model)` removes what costs something and changes no bit. To run a model many times, make a
`kibi.Interpreter(model, plan)`. The documents' glossary explains the words.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from kibi.errors import KibiError
from kibi.targets import Board, Target, board, boards, target, targets
from kibi.version import __version__

if TYPE_CHECKING:
    from kibi.api import compile, embed, load, plan, run, simplify  # noqa: A004 - the field's word
    from kibi.codegen import Library
    from kibi.conversion import convert, from_torch
    from kibi.eager_files import compile_eager
    from kibi.evaluations import compare_layers, evaluate
    from kibi.interpreters import Interpreter
    from kibi.ir import Graph
    from kibi.measurements import (
        measure,
        measure_on_board,
        measure_over_serial,
        tune,
        verify,
        write_serial_program,
        write_tuning_program,
    )
    from kibi.model_reports import report
    from kibi.plan_files import compile_core, compile_like, compile_plan, measure_plan, open_plan
    from kibi.planner.plan import Plan
    from kibi.quantizations import quantize
    from kibi.sweeps.call import sweep
    from kibi.updates import generate_key, read_package, sign, sign_update

__all__ = [
    "Board",
    "Graph",
    "Interpreter",
    "KibiError",
    "Library",
    "Plan",
    "Target",
    "__version__",
    "board",
    "boards",
    "compare_layers",
    "compile",
    "compile_core",
    "compile_eager",
    "compile_like",
    "compile_plan",
    "convert",
    "embed",
    "evaluate",
    "from_torch",
    "generate_key",
    "load",
    "measure",
    "measure_on_board",
    "measure_over_serial",
    "measure_plan",
    "open_plan",
    "plan",
    "quantize",
    "read_package",
    "report",
    "run",
    "sign",
    "sign_update",
    "simplify",
    "sweep",
    "target",
    "targets",
    "tune",
    "verify",
    "write_serial_program",
    "write_tuning_program",
]
_FUNCTIONS = ("compile", "embed", "load", "plan", "run", "simplify")
_LATE = {
    "Graph": "kibi.ir",
    "Interpreter": "kibi.interpreters",
    "Library": "kibi.codegen",
    "compile_eager": "kibi.eager_files",
    "compare_layers": "kibi.evaluations",
    "evaluate": "kibi.evaluations",
    "quantize": "kibi.quantizations",
    "report": "kibi.model_reports",
    "Plan": "kibi.planner.plan",
    **dict.fromkeys(("convert", "from_torch"), "kibi.conversion"),
    "sweep": "kibi.sweeps.call",
    **dict.fromkeys(_FUNCTIONS, "kibi.api"),
    **dict.fromkeys(
        (
            "measure",
            "measure_on_board",
            "measure_over_serial",
            "tune",
            "verify",
            "write_serial_program",
            "write_tuning_program",
        ),
        "kibi.measurements",
    ),
    **dict.fromkeys(("compile_core", "compile_like", "compile_plan", "measure_plan", "open_plan"), "kibi.plan_files"),
    **dict.fromkeys(("generate_key", "read_package", "sign", "sign_update"), "kibi.updates"),
}
"""Names that are imported on first use, each with its module. So `import kibi` stays quick, and the command line can be interrupted
from its first moment on."""
_PACKAGES = ("codegen", "ops", "passes", "planner", "runtime")


def __getattr__(name: str) -> Any:
    """Imports one of `_LATE`, or one of the packages that people reach through this one."""
    if name in _PACKAGES:
        return import_module(f"{__name__}.{name}")
    if name not in _LATE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(_LATE[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    """Lists all names, also those that are imported late."""
    return sorted({*globals(), *_LATE})
