"""The pages of the site's reference of the Python API, and what each shows."""  # noqa: INP001 - a folder of documents and scripts, no package

API = {
    "From model to numbers": (
        "load", "simplify", "plan", "run", "compile", "measure", "measure_on_board", "write_serial_program",
        "measure_over_serial", "verify", "tune", "write_tuning_program", "embed", "report",
    ),
    "Models": ("convert", "from_torch", "quantize", "evaluate", "compare_layers", "sweep"),
    "Objects": ("Graph", "Plan", "Interpreter", "Library", "KibiError"),
    "Results": (
        "reports.measurement.Measurement", "reports.board_run.BoardRun", "reports.verification.Verification",
        "reports.evaluation.Evaluation",
        "quantization.report.Quantization", "engines.tuning.Tuning", "tflm.embedding.Embedding", "planner.together.JointPlan",
    ),
    "Targets and boards": ("Target", "target", "targets", "Board", "board", "boards"),
    "Plan files and updates": (
        "compile_core", "compile_plan", "compile_like", "open_plan", "measure_plan",
        "generate_key", "sign", "sign_update", "read_package",
    ),
    "Programs by hand": ("compile_eager",),
}  # fmt: skip
"""By the title of a page: names of `kibi`, and what its functions return, by the module that defines it."""
