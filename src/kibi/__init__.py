"""Kibi fits neural networks into kibibytes.

    import kibi

    model = kibi.load("model.tflite")                      # graph, verified
    plan = kibi.plan(model, target="cortex-m4")            # memory, to the byte
    out = kibi.run(model, plan, inputs)                    # bit-exact, inside the planned arena
    lib = kibi.compile(model, plan, "build/")              # C99 files
    info = kibi.measure(lib)                               # emulated: instructions, stack, flash, RAM

`kibi.simplify(model)` takes out what costs and changes no bit. For a model that runs many times: `kibi.Interpreter(model, plan)`.
"""

from kibi.api import compile, embed, load, measure, plan, run, simplify, tune, verify  # noqa: A004 - the field's word
from kibi.codegen import Library
from kibi.errors import KibiError
from kibi.ir import Graph
from kibi.planner.plan import Plan
from kibi.runtime import Interpreter
from kibi.targets import Target, target, targets
from kibi.version import __version__

__all__ = [
    "Graph",
    "Interpreter",
    "KibiError",
    "Library",
    "Plan",
    "Target",
    "__version__",
    "compile",
    "embed",
    "load",
    "measure",
    "plan",
    "run",
    "simplify",
    "target",
    "targets",
    "tune",
    "verify",
]
