"""`kibi check`: models against budgets and a recorded baseline."""

import os
import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kibi.cli.options.common import AsJson, NoOracle
from kibi.cli.options.paths import given_path
from kibi.cli.terminal import BAD, GOOD, QUIET, name_of, output, print_json, say, show, table, tell, working
from kibi.errors import GateError, InputError
from kibi.files import write_file

if TYPE_CHECKING:
    from rich.console import Console

    from kibi.gate.baseline import Baseline
    from kibi.gate.results import Report, Result

_NAME = "kibi.toml"


def _file(flag: str, what: str) -> Any:
    return typer.Option(flag, metavar="FILE", help=f"Write {what}.", parser=given_path, show_default=False)


def check(
    spec: Annotated[
        Path,
        typer.Argument(metavar="SPEC", help="A TOML file: models, boards, budgets.", parser=given_path),
    ] = Path(_NAME),
    *,
    write: Annotated[
        bool, typer.Option("--write", help="Record the figures as the baseline; growth is then no reason to fail.")
    ] = False,
    junit: Annotated[Path | None, _file("--junit", "a test for each figure as JUnit's XML")] = None,
    markdown: Annotated[Path | None, _file("--markdown", "the tables as Markdown")] = None,
    sarif: Annotated[Path | None, _file("--sarif", "what does not hold as SARIF 2.1.0")] = None,
    github: Annotated[
        bool, typer.Option("--github", help="For GitHub Actions: annotate SPEC, and append to the summary of the job.")
    ] = False,
    no_oracle: NoOracle = False,
    as_json: AsJson = False,
) -> None:
    """Check models against budgets, and against recorded figures.

    SPEC names models, the boards or targets that they run on, and budgets: RAM, arena, stack, flash, instructions, the longest
    step, accuracy, equal bits. Each model is compiled and run on the emulated core. What does not hold is told with the layers
    that are the cause, and the exit code is 16. A model that cannot be measured ends with the exit code of its error.
    """
    from kibi.gate.baseline import write_baseline  # noqa: PLC0415 - verbs pay for what they use
    from kibi.gate.checking import check as run  # noqa: PLC0415 - as above
    from kibi.gate.spec import load_spec  # noqa: PLC0415 - as above

    if github and as_json:
        raise typer.BadParameter("--github and --json both write to standard output. Give one of them")
    given = load_spec(spec)
    baseline = _baseline(given.baseline, is_replaced=write)
    with working("measuring") as watch:
        report = run(given, baseline, oracle=not no_oracle, watch=watch)
    if write:
        report = _recorded(report)
        if not report.failures:
            write_baseline(given.baseline, [each.measured for each in report.results if each.measured is not None])
    _write_files(replace(report, spec=_in_repository(report.spec)), junit, markdown, sarif)
    if as_json:
        print_json(report.to_dict())
    else:
        with _no_commands() if github else nullcontext():
            _show(report)
            if write and not report.failures:
                say(output(), f"The baseline is in {given.baseline}. Put it under version control.")
    if github:
        _tell_github(report)
    _refuse(report)


def _baseline(path: Path, *, is_replaced: bool) -> "Baseline | None":
    """The recorded figures; where they are replaced, damaged ones are no reason to fail."""
    from kibi.gate.baseline import load_baseline  # noqa: PLC0415 - as above

    try:
        return load_baseline(path)
    except InputError as error:
        if not is_replaced:
            raise
        tell(f"{error} It is written anew.")
        return None


def _recorded(report: "Report") -> "Report":
    """A report whose figures may be worse than the recorded ones, because they are what is recorded next."""
    results = tuple(
        replace(each, figures=tuple(replace(figure, allowed=None) for figure in each.figures))
        for each in report.results
    )
    return replace(report, results=results, remarks=())


def _write_files(report: "Report", junit: Path | None, markdown: Path | None, sarif: Path | None) -> None:
    from kibi.gate.junit import junit as as_junit  # noqa: PLC0415 - as above
    from kibi.gate.markdown import markdown as as_markdown  # noqa: PLC0415 - as above
    from kibi.gate.sarif import sarif as as_sarif  # noqa: PLC0415 - as above

    if junit is not None:
        write_file(junit, as_junit(report).encode())
    if markdown is not None:
        write_file(markdown, as_markdown(report).encode())
    if sarif is not None:
        write_file(sarif, as_sarif(report).text.encode())


@contextmanager
def _no_commands() -> Iterator[None]:
    """Lets GitHub take no line for a command meanwhile, whatever the names of models and layers are."""
    token = secrets.token_hex(16)
    _print(f"::stop-commands::{token}")
    try:
        yield
    finally:
        _print(f"::{token}::")


def _print(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _tell_github(report: "Report") -> None:
    """Prints annotations, and appends to the job's summary."""
    from kibi.gate.github import annotations, append_summary  # noqa: PLC0415 - as above

    for line in annotations(replace(report, spec=_in_repository(report.spec))):
        _print(line)
    append_summary(report)


def _in_repository(spec: str) -> str:
    """Returns the path of SPEC in the repository that a job of GitHub Actions works on; elsewhere the path as it is."""
    root = os.environ.get("GITHUB_WORKSPACE")
    path = Path(os.path.abspath(spec))  # noqa: PTH100 - a link in the repository keeps its own name
    return path.relative_to(root).as_posix() if root and path.is_relative_to(root) else spec


def _refuse(report: "Report") -> None:
    """Ends with an error if something was not measured or does not hold."""
    from kibi.gate.results import Verdict  # noqa: PLC0415 - as above

    if report.failures:
        first = report.failures[0]
        tell(f"{report.summary}. {first.text}")
        raise typer.Exit(first.exit_code)
    if report.broken:
        verdicts = {figure.verdict for result in report.results for figure in result.broken}
        ways = ["make the model smaller"]
        ways += ["raise the budget"] if Verdict.OVER in verdicts else []
        ways += ["record the growth by --write"] if Verdict.GREW in verdicts else []
        raise GateError(f"{report.summary}. To go on, {' or '.join(ways)}.")


def _show(report: "Report") -> None:
    console = output()
    rows = table(console, "!model", "!place", "!figure", ">measured", ">budget", ">recorded", ">change", "!verdict")
    for result in report.results:
        if result.failure is not None:
            rows.add_row(name_of(result.model), result.place, "", "", "", "", "", "not measured", style=BAD)
        for figure in result.figures:
            kind = figure.kind
            rows.add_row(
                name_of(result.model),
                result.place,
                kind.label,
                kind.text(figure.value),
                "" if figure.limit is None else kind.text(figure.limit),
                "" if figure.recorded is None else kind.text(figure.recorded),
                figure.change_text,
                str(figure.verdict),
                style=BAD
                if figure.reason
                else GOOD
                if figure.limit is not None or figure.allowed is not None
                else QUIET,
            )
    show(console, rows)
    for result in report.results:
        _show_details(console, result)
    say(console)
    for remark in report.remarks:
        say(console, remark)
    say(console, f"{report.summary}.", style=GOOD if report.holds else BAD)


def _show_details(console: "Console", result: "Result") -> None:
    """Prints why a model was not measured, what does not hold and its causes, and what else to know."""
    if result.failure is not None:
        say(console)
        say(console, f"{result.title}: {result.failure.text}")
    for figure in result.broken:
        say(console)
        say(console, f"{result.title}: {figure.reason}", style=BAD)
        found = result.causes_of(figure)
        if found:
            has_changes = any(each.before is not None for each in found)
            rows = table(console, "  cause", "operator", "change" if has_changes else "takes")
            for cause in found:
                rows.add_row(f"  {name_of(cause.name).plain}", cause.op, cause.text)
            show(console, rows)
    if result.remarks and not result.broken:
        say(console)
        say(console, f"{result.title}:")
    for remark in result.remarks:
        say(console, f"  {remark}")
