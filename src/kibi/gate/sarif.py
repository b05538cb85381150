"""A report as SARIF 2.1.0, which code hosts take from tools that analyse: a result for each figure that does not hold."""

from hashlib import sha256
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from kibi.gate.figures import KINDS
from kibi.gate.results import Report, Result
from kibi.printable import paragraph
from kibi.text.json import JsonText, json_text

_SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
_NOT_MEASURED: Final = "not-measured"


def sarif(report: Report) -> JsonText:
    """Returns the document. Places are lines of kibi.toml; each result has a fingerprint that does not depend on its figures."""
    rules = [*KINDS, _NOT_MEASURED]
    results = [each for result in report.results for each in _results(report, result, rules)]
    driver = {
        "name": "kibi",
        "version": report.version,
        "rules": [{"id": f"kibi/{name}", "shortDescription": {"text": _description(name)}} for name in rules],
    }
    run = {
        "tool": {"driver": driver},
        "results": results,
        "invocations": [{"executionSuccessful": not report.failures}],
        "columnKind": "unicodeCodePoints",
    }
    return json_text({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]})


def _description(rule: str) -> str:
    if rule == _NOT_MEASURED:
        return "A model could not be measured"
    return f"Budget and baseline of the {KINDS[rule].label}"


def _results(report: Report, result: Result, rules: list[str]) -> list[dict[str, Any]]:
    """The results of one model in one place."""
    if result.failure is not None:
        return [_result(report, result, rules, _NOT_MEASURED, f"{result.title}: {result.failure.text}")]
    return [
        _result(
            report,
            result,
            rules,
            figure.kind.name,
            "\n".join(
                [
                    f"{result.title}: {figure.reason}",
                    *(f"{cause.op} {cause.name}: {cause.text}".strip() for cause in result.causes_of(figure)),
                ]
            ),
        )
        for figure in result.broken
    ]


def _result(report: Report, result: Result, rules: list[str], rule: str, text: str) -> dict[str, Any]:
    fingerprint = sha256(repr((result.model, result.place, rule)).encode("utf-8", "replace")).hexdigest()
    return {
        "ruleId": f"kibi/{rule}",
        "ruleIndex": rules.index(rule),
        "level": "error",
        "message": {"text": paragraph(text)},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": uri(report.spec)},
                    "region": {"startLine": result.line},
                }
            }
        ],
        "partialFingerprints": {"kibiCheck/v1": fingerprint},
    }


def uri(path: str) -> str:
    """Returns a path as a relative URI, or as a `file:` URI where it is absolute."""
    place = Path(path)
    if place.is_absolute():
        return place.as_uri()
    return quote(place.as_posix().encode("utf-8", "surrogateescape"))
