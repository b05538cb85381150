"""The documents say all that there is: rules, commands, layers, targets of the Makefile, status codes."""

import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import kibi
from kibi.engines.engine import MORE_INPUT, PAUSED, STATUS
from kibi.reports.measurement import Measurement
from tests.docs.documents import DOCS, DOCUMENTS, ROOT
from tests.test_layers import LAYERS

_RULES = re.compile(r"\b[Rr]ules? N(?P<first>\d+)(?: to N(?P<last>\d+))?")
_SOURCES = [
    path for path in sorted((ROOT / "src" / "kibi").rglob("*")) if path.suffix in (".py", ".c", ".h") and path.is_file()
]


def _rules_of(path: Path) -> set[int]:
    found: set[int] = set()
    for match in _RULES.finditer(path.read_text(encoding="utf-8")):
        found |= set(range(int(match["first"]), int(match["last"] or match["first"]) + 1))
    return found


def test_rules_in_code_and_document_are_the_same() -> None:
    """Each rule that the code names is a section of numerics.md, and each section is named where it applies."""
    text = (DOCS / "numerics.md").read_text(encoding="utf-8")
    written = [int(number) for number in re.findall(r"^### N(\d+)$", text, re.MULTILINE)]
    assert written == list(range(1, len(written) + 1))
    assert set().union(*map(_rules_of, _SOURCES)) == set(written)


def test_rules_name_the_file_that_applies_them() -> None:
    """The file that a rule's section links is one that names the rule."""
    text = (DOCS / "numerics.md").read_text(encoding="utf-8")
    for number, section in re.findall(r"^### N(\d+)$(.*?)(?=^#)", text, re.MULTILINE | re.DOTALL):
        linked = [(DOCS / target).resolve() for target in re.findall(r"\]\((\.\./src/[^)]+)\)", section)]
        assert any(int(number) in _rules_of(path) for path in linked), f"rule N{number}"


def test_every_command_is_in_the_readme_and_the_reference() -> None:
    """No verb of the command line is left untold."""
    help_text = subprocess.run(
        [sys.executable, "-m", "kibi", "--help"], capture_output=True, text=True, check=True
    ).stdout
    verbs = re.findall(r"^  ([a-z]+)  ", help_text.partition("Commands:")[2], re.MULTILINE)
    readme, reference = (path.read_text(encoding="utf-8") for path in (ROOT / "README.md", DOCS / "commands.md"))
    assert len(verbs) >= 9
    for verb in verbs:
        assert f"`kibi {verb}" in readme
        assert f"\n## {verb}\n" in reference


def test_layers_are_those_of_the_contributing_guide() -> None:
    """The picture of the layers is what the test of imports enforces."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    picture = text.partition("```text\n")[2].partition("```")[0]
    layers = [tuple(re.findall(r"\w+", part)) for part in picture.split("<")]
    enforced = [tuple(name for name in names if name not in ("version", "__main__")) for names in LAYERS]
    assert layers == [names for names in enforced if names]


def test_make_targets_that_documents_name_exist() -> None:
    """`make something` in a document is a target of the Makefile."""
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    for path in DOCUMENTS:
        named = set(re.findall(r"(?:`|^)make ([a-z-]+)", path.read_text(encoding="utf-8"), re.MULTILINE))
        assert named <= targets, path


FIRST_BY_HAND = -32
"""The first status code of functions that no model calls: of arenas and tensors."""


def test_status_codes_are_those_of_the_header() -> None:
    """The C library's page lists every status code with its value."""
    header = (ROOT / "src" / "kibi" / "kernels" / "portable" / "kibi.h").read_text(encoding="utf-8")
    codes = re.findall(r"(KIBI_\w+) = (-?\d+)", header)
    page = (DOCS / "c-library.md").read_text(encoding="utf-8")
    assert {int(value) for _, value in codes if int(value) > FIRST_BY_HAND} == {0, MORE_INPUT, PAUSED, *STATUS}
    assert re.findall(r"^\| `(KIBI_\w+)` \| (-?\d+) \|", page, re.MULTILINE) == codes


def test_measurement_keys_are_those_of_the_page() -> None:
    """The C library's page explains every key of `kibi measure --json` but the names of model and target."""
    section = (DOCS / "c-library.md").read_text(encoding="utf-8").partition("## What the numbers mean")[2]
    keys = set(re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE))
    assert keys == {field.name for field in fields(Measurement)} - {"model", "target"}


def test_changelog_has_this_version() -> None:
    """The version that is installed has its entry."""
    assert f"## [{kibi.__version__}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
