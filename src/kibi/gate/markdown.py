"""A report as Markdown, for summaries of jobs and comments: a table of all figures, and the causes of those that do not hold."""

from collections.abc import Iterator

from kibi.gate.results import Figure, Report, Result, Verdict
from kibi.printable import printable
from kibi.text.markdown import code_span


def markdown(report: Report) -> str:
    """Returns the text. Names of models and layers are code spans, so that nothing in them is markup or mentions a user."""
    return "\n".join([*_lines(report), ""])


def _lines(report: Report) -> Iterator[str]:
    yield f"### Kibi: {'the gate holds' if report.holds else 'the gate is broken'}"
    yield ""
    yield f"{report.summary}."
    yield ""
    yield "| model | place | figure | measured | budget | recorded | change | verdict |"
    yield "|---|---|---|---:|---:|---:|---:|---|"
    for result in report.results:
        if result.failure is not None:
            yield f"| {code_span(result.model)} | {code_span(result.place)} | | | | | | **not measured** |"
        for figure in result.figures:
            yield _row(result, figure)
    for result in report.results:
        yield from _details(result)
    for remark in report.remarks:
        yield ""
        yield code_span(remark)


def _row(result: Result, figure: Figure) -> str:
    kind = figure.kind
    limit = "" if figure.limit is None else kind.text(figure.limit)
    recorded = "" if figure.recorded is None else kind.text(figure.recorded)
    verdict = figure.verdict
    shown = str(verdict) if verdict is Verdict.HOLDS else f"**{verdict}**"
    cells = (code_span(result.model), code_span(result.place), kind.label, kind.text(figure.value), limit, recorded)
    return f"| {' | '.join(cells)} | {figure.change_text} | {shown} |"


def _details(result: Result) -> Iterator[str]:
    """Why a model was not measured, which figures do not hold and why, and what else to know."""
    if not (result.broken or result.remarks or result.failure):
        return
    yield ""
    yield f"#### {code_span(result.title)}"
    if result.failure is not None:
        yield ""
        yield from (f"    {printable(line)}" for line in result.failure.text.split("\n"))
    for figure in result.broken:
        yield ""
        yield f"- {code_span(figure.reason)}"
        causes = result.causes_of(figure)
        if not causes:
            continue
        yield ""
        yield "  | layer | operator | cause |"
        yield "  |---|---|---|"
        for cause in causes:
            yield f"  | {code_span(cause.name)} | {code_span(cause.op) if cause.op else ''} | {code_span(cause.text)} |"
    for remark in result.remarks:
        yield ""
        yield code_span(remark)
