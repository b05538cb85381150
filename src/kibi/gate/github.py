"""A report for GitHub Actions: annotations of kibi.toml, and the summary of the job."""

import os
from collections.abc import Iterator
from pathlib import Path

from kibi.errors import OutputError
from kibi.gate.markdown import markdown
from kibi.gate.results import Report
from kibi.printable import printable

SUMMARY = "GITHUB_STEP_SUMMARY"
"""The variable with the path of the file that a job's summary is appended to."""
_MOST_SUMMARY = 1_000_000
_DATA = {"%": "%25", "\r": "%0D", "\n": "%0A"}
_PROPERTY = {**_DATA, ":": "%3A", ",": "%2C"}


def annotations(report: Report) -> Iterator[str]:
    """Yields a workflow command for each figure that does not hold, and for each model that was not measured."""
    for result in report.results:
        texts = [
            "\n".join([figure.reason, *(f"{cause.name}: {cause.text}" for cause in result.causes_of(figure))])
            for figure in result.broken
        ]
        texts += [] if result.failure is None else [result.failure.text]
        for text in texts:
            place = f"file={_property(report.spec)},line={result.line},title={_property(result.title)}"
            yield f"::error {place}::{_data(text)}"


def append_summary(report: Report) -> bool:
    """Appends the report to the summary of the job; False where this is no job of GitHub Actions.

    Raises:
        OutputError: the file cannot be written.
    """
    path = os.environ.get(SUMMARY)
    if not path:
        return False
    text = markdown(report).encode("utf-8", "replace")
    if len(text) > _MOST_SUMMARY:
        text = text[: text.rindex(b"\n", 0, _MOST_SUMMARY)] + b"\n\nThe rest is left out.\n"
    try:
        with Path(path).open("ab") as file:
            file.write(text)
    except (OSError, ValueError) as error:
        raise OutputError(f"{path}: {error}. Check {SUMMARY}, or leave --github out.") from None
    return True


def _data(text: str) -> str:
    return "".join(_DATA.get(each, each) for each in printable(text, "\r\n"))


def _property(text: str) -> str:
    return "".join(_PROPERTY.get(each, each) for each in printable(text))
