"""JUnit, Markdown, SARIF and GitHub's annotations: parsed back, with names that try to be markup."""

import json
import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from kibi.errors import OutputError
from kibi.gate.figures import KINDS
from kibi.gate.github import SUMMARY, annotations, append_summary
from kibi.gate.junit import junit
from kibi.gate.markdown import markdown
from kibi.gate.results import Figure, Report, Result
from kibi.gate.sarif import sarif, uri
from tests.gate.reports import HOSTILE, report


def test_summary_counts_what_was_checked_and_what_does_not_hold() -> None:
    """And says where nothing was measured."""
    assert report().summary == "4 figures checked, 2 over budget, 1 worse than recorded, 1 not measured"
    assert not report().holds
    assert Report("kibi.toml", "0", report().results[:1]).summary == "1 figure checked, all hold"


@pytest.mark.parametrize(
    ("figure", "reason"),
    [
        (Figure(KINDS["ram"], 9.0, 8.0), "RAM 9 is 1 byte over the budget of 8"),
        (Figure(KINDS["cycles"], 9.0, 8.0), "cycles 9 is 1 cycle over the budget of 8"),
        (Figure(KINDS["ram"], 8.0, 8.0), ""),
        (Figure(KINDS["flash"], 9.0, 8.0, "board's memory"), "flash 9 is 1 byte over the board's memory of 8"),
        (Figure(KINDS["stack"], 9.0, 9.0, "budget", 7.0, 8.0), "stack 9 is 2 bytes over the recorded 7, where 8 is allowed"),
        (Figure(KINDS["accuracy"], 0.5, 0.75), "accuracy 50% is 25% below the budget of 75%"),
        (
            Figure(KINDS["accuracy"], 0.5, recorded=0.75, allowed=0.7),
            "accuracy 50% is 25% below the recorded 75%, where 70% is allowed",
        ),
        (Figure(KINDS["accuracy"], 0.8, 0.75, "budget", 0.79, 0.78), ""),
        (Figure(KINDS["equal_bits"], 0.0, 1.0, note="host C, run 0"), "bits are different: host C, run 0"),
        (Figure(KINDS["equal_bits"], 1.0, 1.0), ""),
    ],
)  # fmt: skip
def test_reason_says_by_how_much_and_of_what(figure: Figure, reason: str) -> None:
    """A figure that holds has none."""
    assert figure.reason == reason


@pytest.mark.parametrize("name", ["m", HOSTILE])
def test_junit_has_a_test_for_each_figure(name: str) -> None:
    """Counts agree with what is there, and names come back without control characters."""
    root = ET.fromstring(junit(report(name)))  # noqa: S314 - our own text
    assert root.tag == "testsuites"
    suites = root.findall("testsuite")
    assert [int(root.attrib[key]) for key in ("tests", "failures", "errors")] == [5, 3, 1]
    for suite in suites:
        assert int(suite.attrib["tests"]) == len(suite.findall("testcase"))
        assert int(suite.attrib["failures"]) == len(suite.findall("testcase/failure"))
        assert int(suite.attrib["errors"]) == len(suite.findall("testcase/error"))
    failure = suites[1].find("testcase[@name='instructions']/failure")
    assert failure is not None
    assert failure.attrib["type"] == "worse than recorded"
    assert "60 to 110 instructions (+50)" in (failure.text or "")
    assert name.replace("\x1b", "?").replace("\n", "?") in suites[0].attrib["name"]
    error = suites[2].find("testcase/error")
    assert error is not None
    assert error.attrib["type"] == "ModelError"


def test_sarif_has_what_the_standard_requires() -> None:
    """A rule for each result, a place, a message, and a fingerprint that the figure does not change."""
    record = json.loads(sarif(report(HOSTILE)).text)
    (run,) = record["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert (record["version"], run["tool"]["driver"]["name"]) == ("2.1.0", "kibi")
    assert len(run["results"]) == 4
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["level"] == "error"
        assert result["message"]["text"]
        (place,) = result["locations"]
        assert place["physicalLocation"]["artifactLocation"]["uri"] == "kibi.toml"
        assert place["physicalLocation"]["region"]["startLine"] >= 1
    prints = [result["partialFingerprints"]["kibiCheck/v1"] for result in run["results"]]
    assert len(set(prints)) == 4
    changed = Report(
        "kibi.toml", "0", (Result(HOSTILE, "nucleo-f446re", "", 1, (Figure(KINDS["flash"], 999.0, 250.0),)),)
    )
    assert json.loads(sarif(changed).text)["runs"][0]["results"][0]["partialFingerprints"]["kibiCheck/v1"] == prints[0]
    assert run["invocations"] == [{"executionSuccessful": False}]


def test_paths_in_sarif_are_uris() -> None:
    """Blanks and signs are escaped; absolute ones begin with their scheme."""
    assert uri("a b/100%#.toml") == "a%20b/100%25%23.toml"
    assert uri("/a b/kibi.toml") == "file:///a%20b/kibi.toml"


def test_markdown_has_a_row_for_each_figure_and_escapes_names() -> None:
    """No name ends its cell or its line."""
    for name in ("m", HOSTILE):
        lines = markdown(report(name)).splitlines()
        rows = [line for line in lines if line.startswith("| ") and not line.startswith("| model")]
        assert len(rows) == 5
        assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {9}
    text = markdown(report())
    assert "| `m` | `nucleo-f446re` | flash | 300 | 250 |  |  | **over budget** |" in text
    assert "`60 to 110 instructions (+50); kernel kibi_b became kibi_a`" in text
    assert "There is a remark." in text


def test_annotations_are_one_line_each_and_name_the_line_of_kibi_toml() -> None:
    """Colons and commas of names do not end a property, line ends do not end the command."""
    lines = list(annotations(report(HOSTILE)))
    assert len(lines) == 4
    for line in lines:
        found = re.fullmatch(r"::error file=([^,:]+),line=(\d+),title=([^,:]+)::(.+)", line)
        assert found is not None
        assert "\n" not in line
        assert "\x1b" not in line
    assert lines[0].startswith("::error file=kibi.toml,line=3,title=a|b`c<i>@me&")
    assert lines[3].endswith("%0Ano file")


def test_summary_of_a_job_is_appended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What other steps wrote stays; without a job nothing is written; what is too long is cut at a line."""
    monkeypatch.delenv(SUMMARY, raising=False)
    assert not append_summary(report())
    path = tmp_path / "summary.md"
    path.write_text("before\n")
    monkeypatch.setenv(SUMMARY, str(path))
    assert append_summary(report())
    assert path.read_text() == "before\n" + markdown(report())
    many = Report("kibi.toml", "0", report().results[:1] * 20_000)
    append_summary(many)
    assert path.stat().st_size < 1 << 20
    assert path.read_text().endswith("|\n\nThe rest is left out.\n")
    monkeypatch.setenv(SUMMARY, str(tmp_path))
    with pytest.raises(OutputError, match=SUMMARY):
        append_summary(report())
