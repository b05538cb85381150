"""A report as JUnit's XML, which every CI system shows: a test for each figure."""

from kibi.gate.results import Figure, Report, Result
from kibi.text.markup import Markup, attributes, element_text, markup


def junit(report: Report) -> str:
    """Returns the document."""
    suites = [_suite(result) for result in report.results]
    tests = sum(len(result.figures) or 1 for result in report.results)
    given = attributes(
        name="kibi check", tests=str(tests), failures=str(report.broken), errors=str(len(report.failures))
    )
    document = markup(
        '<?xml version="1.0" encoding="UTF-8"?>\n<testsuites $given>\n$suites\n</testsuites>\n',
        given=given,
        suites=markup("\n").join(suites),
    )
    return document.text


def _suite(result: Result) -> Markup:
    """The figures of one model in one place."""
    failed = result.failure is not None
    given = attributes(
        name=result.title,
        tests=str(len(result.figures) or 1),
        failures=str(len(result.broken)),
        errors="1" if failed else "0",
        file=result.file,
    )
    cases = [_failed(result)] if failed else [_case(result, figure) for figure in result.figures]
    return markup("<testsuite $given>\n$cases\n</testsuite>", given=given, cases=markup("\n").join(cases))


def _case(result: Result, figure: Figure) -> Markup:
    given = attributes(classname=result.title, name=figure.kind.label)
    told = [f"{figure.kind.text(figure.value)}{f' ({figure.note})' if figure.note else ''}"]
    if not figure.reason:
        return markup(
            "<testcase $given><system-out>$told</system-out></testcase>", given=given, told=element_text(told[0])
        )
    causes = [f"{cause.op} {cause.name}: {cause.text}".strip() for cause in result.causes_of(figure)]
    lines = markup("\n").join([element_text(line) for line in [figure.reason, *causes, *result.remarks]])
    failure = attributes(type=str(figure.verdict), message=figure.reason)
    return markup(
        "<testcase $given><failure $failure>$lines</failure></testcase>", given=given, failure=failure, lines=lines
    )


def _failed(result: Result) -> Markup:
    """The test of a model that could not be measured."""
    kind, text = ("", "") if result.failure is None else (result.failure.kind, result.failure.text)
    given = attributes(classname=result.title, name="measured")
    error = attributes(type=kind, message=text.partition("\n")[0])
    lines = markup("\n").join([element_text(line) for line in text.split("\n")])
    return markup("<testcase $given><error $error>$lines</error></testcase>", given=given, error=error, lines=lines)
