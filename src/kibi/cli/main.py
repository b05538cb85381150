"""The `kibi` command: its verbs, and how every end of a run becomes an exit code.

0     done
1…16  an error of `kibi.errors`: each family has its own
2     the arguments make no sense
70    a bug of Kibi's own
130   interrupted
141   nobody reads standard output any more
"""

import os
import sys
import warnings
from collections.abc import Sequence
from typing import Annotated

import typer

from kibi.cli.commands.boards import boards
from kibi.cli.commands.check import check
from kibi.cli.commands.compile import compile_models
from kibi.cli.commands.convert import convert
from kibi.cli.commands.core import write_core
from kibi.cli.commands.demo import demo
from kibi.cli.commands.eager import write_eager
from kibi.cli.commands.evaluate import evaluate
from kibi.cli.commands.events import events
from kibi.cli.commands.inspect import inspect
from kibi.cli.commands.keygen import keygen
from kibi.cli.commands.measure import measure
from kibi.cli.commands.operators import operators
from kibi.cli.commands.pareto import pareto
from kibi.cli.commands.place import place
from kibi.cli.commands.plan import plan
from kibi.cli.commands.quantize import quantize
from kibi.cli.commands.report import report, view
from kibi.cli.commands.run import run_model
from kibi.cli.commands.schema import schema
from kibi.cli.commands.sign import sign, update
from kibi.cli.commands.sweep import sweep
from kibi.cli.commands.targets import targets
from kibi.cli.commands.verify import verify
from kibi.cli.envelope import told_of
from kibi.cli.failure import EXIT_INTERRUPTED, exit_code_of, show_warning
from kibi.cli.options.renamed import current_flags
from kibi.version import __version__

_TRACEBACK = "--traceback"

app = typer.Typer(
    name="kibi",
    no_args_is_help=True,
    add_completion=True,  # for bash, zsh, fish and PowerShell
    # Boxes and colours where a person reads the help; plain text in a pipe.
    rich_markup_mode="rich" if sys.stdout is not None and sys.stdout.isatty() else None,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Example: kibi demo",
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"kibi {__version__}")
        raise typer.Exit


@app.callback()
def kibi(
    *,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and stop.")
    ] = False,
    traceback: Annotated[
        bool, typer.Option(_TRACEBACK, help="Show where in Kibi an error was raised. Also: KIBI_TRACEBACK=1.")
    ] = False,
) -> None:
    """Fits neural networks into kibibytes: plans, runs, compiles and measures models for microcontrollers."""
    del version, traceback  # one has acted already, `main` takes the other from anywhere on the line


app.command("inspect", epilog="Example: kibi inspect model.tflite")(inspect)
app.command("convert", epilog="Example: kibi convert model.h -o model.tflite")(convert)
app.command("plan", epilog="Example: kibi plan model.tflite --target cortex-m4 --svg plan.svg")(plan)
app.command("place", epilog="Example: kibi place buffers.csv --capacity 65536")(place)
app.command("run", epilog="Example: kibi run model.tflite --input photo.png --labels labels.txt")(run_model)
app.command("compile", epilog="Example: kibi compile model.tflite --target cortex-m4 -o build/model")(compile_models)
app.command("eager", epilog="Example: kibi eager --operator conv2d --operator relu -o build/eager")(write_eager)
app.command("core", epilog="Example: kibi core model.tflite --target cortex-m4 -o build/core")(write_core)
app.command("keygen", epilog="Example: kibi keygen -o keys/release")(keygen)
app.command(
    "sign", epilog="Example: kibi sign model.kibi --key release.pem --model wake-word --counter 1 -o model.kibip"
)(sign)
app.command("update", epilog="Example: kibi update old.kibip new.kibi --key release.pem -o delta.kibid")(update)
app.command("measure", epilog="Example: kibi measure model.tflite --target cortex-m4")(measure)
app.command("verify", epilog="Example: kibi verify model.tflite --runs 10")(verify)
app.command("pareto", epilog="Example: kibi pareto model.tflite --svg pareto.svg")(pareto)
app.command("check", epilog="Example: kibi check --junit kibi.xml")(check)
app.command("report", epilog="Example: kibi report model.tflite -o report.html")(report)
app.command("view", epilog="Example: kibi view model.tflite")(view)
app.command("sweep", epilog="Example: kibi sweep search.toml -o search.parquet --svg search.svg")(sweep)
app.command("quantize", epilog="Example: kibi quantize model.tflite --data samples.npz -o model_int8.tflite")(quantize)
app.command("evaluate", epilog="Example: kibi evaluate model.tflite --data samples.npz")(evaluate)
app.command("targets", epilog="Example: kibi targets")(targets)
app.command("boards", epilog="Example: kibi boards nucleo")(boards)
app.command("operators", epilog="Example: kibi operators")(operators)
app.command("events", epilog="Example: kibi events src --decode 0x1f2e --width 2")(events)
app.command("schema", epilog="Example: kibi schema plan")(schema)
app.command("demo", epilog="Example: kibi demo --output build/demo")(demo)
for _each in app.registered_commands:
    if _each.name and _each.callback:
        _each.callback = told_of(_each.name, _each.callback)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command.

    Args:
        arguments: the words after `kibi` on the command line; None: those of this process.

    Returns:
        The exit code. Whatever went wrong has been said on standard error.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    wants_traceback = _TRACEBACK in given or bool(os.environ.get("KIBI_TRACEBACK"))
    try:
        command = typer.main.get_command(app)
        kept = current_flags([argument for argument in given if argument != _TRACEBACK])
        code = command.main(args=kept, prog_name="kibi", standalone_mode=False)
        sys.stdout.flush()
    except BaseException as error:  # noqa: BLE001 - the one place where every end of a run becomes a code
        return exit_code_of(error, wants_traceback=wants_traceback)
    if code == EXIT_INTERRUPTED:  # typer has turned the exception into its code
        return exit_code_of(KeyboardInterrupt(), wants_traceback=wants_traceback)
    return code if isinstance(code, int) else 0


def run() -> None:
    """Runs this process's command line, and ends with its exit code."""
    warnings.showwarning = show_warning
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # the shell closed it: `kibi … >&-`
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115, PTH123 - for the process's life
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a terminal without UTF-8 shows question marks
    sys.exit(main())
