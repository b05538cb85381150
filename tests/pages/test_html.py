"""The page of a report: one file that asks no network for anything, whatever names are in it."""

import hashlib
import json
import re
from base64 import b64decode, b64encode
from collections.abc import Iterator
from html.parser import HTMLParser
from itertools import cycle
from typing import Any

import pytest

import kibi
from kibi.frontends.tflite import parse_tflite
from kibi.pages import html
from kibi.pages.changes import changes_record
from kibi.pages.html import MOST_BYTES, report_page
from tests.pages.networks import HOSTILE, hostile_bytes
from tests.text.hostile import NAMES

_VOID = {"meta", "link", "input", "br", "img"}


class _Page(HTMLParser):
    """The elements of a page with their attributes, and the text of scripts and styles."""

    def __init__(self, page: bytes) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, str] = {}
        self.open: list[str] = []
        self.feed(page.decode())
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in _VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] in ("script", "style", "title"):
            kind = self.elements[-1][1].get("type") or self.open[-1]
            self.texts[kind] = self.texts.get(kind, "") + data

    def with_tag(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


@pytest.fixture(scope="session")
def page(glyphs_record: dict[str, Any], glyphs_machine: dict[str, Any]) -> bytes:
    """The page of the shipped model."""
    return report_page(glyphs_record, glyphs_machine)


def test_page_is_small_and_asks_for_nothing(page: bytes) -> None:
    """No address in any attribute, and a policy that allows the page's own script and styles alone."""
    assert len(page) < 200_000
    found = _Page(page)
    addresses = [
        value for _, attributes in found.elements for name, value in attributes.items() if name in ("src", "href")
    ]
    assert {value[:1] for value in addresses if value} == {"#", "d"}
    assert [value for value in addresses if value and value.startswith("d")] == ["data:,"]
    assert b"url(" not in page
    assert b"@import" not in page
    (policy,) = [each["content"] or "" for each in found.with_tag("meta") if "http-equiv" in each]
    for kind in ("module", "style"):
        digest = b64encode(hashlib.sha256(found.texts[kind].encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe-inline" not in policy
    assert not any(name.startswith("on") or name == "style" for _, each in found.elements for name in each)


def test_page_holds_the_record_and_the_model(
    page: bytes, glyphs_record: dict[str, Any], glyphs_machine: dict[str, Any]
) -> None:
    """As JSON, equal to what `--json` prints, and the model beside it."""
    found = json.loads(_Page(page).texts["application/json"])
    assert found == {**glyphs_record, "run": glyphs_machine}
    assert b64decode(found["run"]["wasm"]).startswith(b"\0asm")


def test_text_of_a_model_is_no_markup_and_no_script() -> None:
    """Hostile names of tensors, of the file and of classes: the same elements as for plain ones."""
    pages = []
    for names, source in ((HOSTILE, "<script>.tflite"), (("a", "b", "c", "d"), "plain.tflite")):
        data = hostile_bytes()
        graph = parse_tflite(data, source)
        made = kibi.report(graph, old=graph, labels=names, oracle=False)
        pages.append(made)
    hostile, plain = (_Page(each.page) for each in pages)
    scripts = [each.get("type") for each in hostile.with_tag("script")]
    assert scripts == ["application/json", "module"]
    assert [tag for tag, _ in hostile.elements] == [tag for tag, _ in plain.elements]
    record = json.loads(hostile.texts["application/json"])
    shown = {each["name"] for each in record["tensors"].values()}
    assert HOSTILE[0].split(";")[0] in shown
    assert record["run"]["labels"][1] == HOSTILE[1]
    assert all(each.isprintable() for each in shown)


def _with_texts(value: Any, texts: Iterator[str]) -> Any:
    """Plain data with other texts in the place of its own."""
    if isinstance(value, dict):
        return {key: _with_texts(each, texts) for key, each in value.items()}
    if isinstance(value, list):
        return [_with_texts(each, texts) for each in value]
    return next(texts) if isinstance(value, str) and value else value


def test_any_text_in_a_record_is_text_in_the_page(glyphs_record: dict[str, Any]) -> None:
    """Also where one comes from a place that no model writes to: the same elements, and JSON that reads back."""
    record = {**glyphs_record, "changes": changes_record(glyphs_record, glyphs_record)}
    tags = [tag for tag, _ in _Page(report_page(record, {"left_out": "reason"})).elements]
    for start in range(0, len(NAMES), 7):
        names = filter(None, cycle(NAMES[start:] + NAMES[:start]))
        found = _Page(report_page(_with_texts(record, names), {"left_out": NAMES[start]}))
        assert [tag for tag, _ in found.elements] == tags
        embedded = found.texts["application/json"]
        assert not set("<>&") & set(embedded)
        assert json.loads(embedded).keys() == {*record, "run"}


def test_policy_is_for_the_scripts_as_they_are() -> None:
    """No file of the page ends its own element, and each import comes before who needs it."""
    script = html._script()
    assert not re.search(r"^(import|export) ", script, re.MULTILINE)
    defined = [match[1] for match in re.finditer(r"^const module_(\w+) = ", script, re.MULTILINE)]
    assert len(set(defined)) == len(defined)
    assert defined[-1] == "main"
    files = {path.stem for path in (html._FOLDER / "js").glob("*.js")}
    assert set(defined) == files
    for match in re.finditer(r"= module_(\w+);", script):
        assert script.index(f"const module_{match[1]} = ") < match.start()


def test_scripts_import_what_they_use_and_export_what_others_use() -> None:
    """Names that a module imports exist and occur in it; names that one exports are imported somewhere."""
    texts = {path.stem: path.read_text() for path in (html._FOLDER / "js").glob("*.js")}
    exported = {(name, match[2]) for name, text in texts.items() for match in html._EXPORT.finditer(text)}
    imported = set()
    for text in texts.values():
        for match in html._IMPORT.finditer(text):
            names = match[1].split(", ")
            imported |= {(match[2], name) for name in names}
            assert [name for name in names if len(re.findall(rf"\b{name}\b", text)) < 2] == []
    assert imported == exported


def test_page_that_would_be_too_large_leaves_the_model_out(glyphs_record: dict[str, Any]) -> None:
    """And says how large it would be."""
    large = {"wasm": "A" * MOST_BYTES, "prefix": "g", "inputs": [], "outputs": [], "labels": [], "golden": {}}
    page = report_page(glyphs_record, large)
    assert len(page) < MOST_BYTES
    found = json.loads(_Page(page).texts["application/json"])
    assert found["run"].keys() == {"left_out"}
    assert "a report has at most 1,500,000" in found["run"]["left_out"]
    assert b"The model does not run in this page." in page
