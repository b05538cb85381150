"""The site's pages and navigation, for `mkdocs build`: what MkDocs cannot read from the folder `docs` itself.

- The rooms of the navigation are the sections of `docs/index.md`, their pages the links of its lists.
- The first page is the README. Further documents of the project and source files that documents link are pages, too.
- The reference of the Python API has a page for each group of `api_pages.py`, made from the docstrings.
- The live demo is the report of the model that Kibi ships, made when the site is built.
"""  # noqa: INP001 - a folder of documents and scripts, no package

import re
from collections.abc import Mapping
from functools import cache
from pathlib import PurePosixPath
from posixpath import normpath, relpath
from typing import Any

from api_pages import API
from blocks import ROOT, blocks
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

import kibi
import kibi.demo

_MOVED = {
    "README.md": "index.md",
    "docs/index.md": "documents.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "CHANGELOG.md": "changes.md",
    "examples/README.md": "examples/index.md",
}
"""Documents whose place on the site is another than in the project."""
_LINK = re.compile(r"\]\((?P<target>[^)\s#]+)(?P<anchor>#[^)\s]*)?\)")
_ITEM_LINK = re.compile(r"^- \[(?P<title>[^\]]+)\]\((?P<target>[^)\s#]+)\)", re.MULTILINE)
_DEMO = """# Live demo

This is `kibi report` of the model that Kibi ships, which tells ten digits apart. Draw a digit: the page runs the C that Kibi wrote,
compiled to WebAssembly, and its bits are those of the device. [Open it alone](glyphs.html).

<iframe src="../glyphs.html" title="Report of the model glyphs" style="width: 100%; height: 80vh; border: 0"></iframe>
"""
_LANGUAGES = {".c": "c", ".h": "c", ".py": "python", ".toml": "toml", ".yml": "yaml"}
_PICTURES = (".svg", ".png")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Sets the navigation: the README, then a room for each section of the documents' index."""
    rooms: list[Any] = [{"Kibi": ["index.md", {"Live demo": "demo.md"}, {"All documents": "documents.md"}]}]
    for section in _text("docs/index.md").split("\n## ")[1:]:
        room = section.partition("\n")[0]
        pages = _listed("docs/index.md", section)
        if room == "Reference":
            pages.insert(0, {"Python": [{name: _api_page(name)} for name in API]})
        if room == "Decisions":
            pages += _listed("docs/decisions/index.md", _text("docs/decisions/index.md"))
        rooms.append({room: pages})
    config.nav = rooms
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the pages that are not stored in `docs`: the project's documents, the API, and linked source files."""
    for source, page in _documents().items():
        _add(files, config, page, _text(source))
    _add(files, config, "demo.md", _DEMO)
    files.append(File.generated(config, "glyphs.html", content=_demo_report()))
    for name, members in API.items():
        _add(files, config, _api_page(name), _api_text(name, members))
    for source in sorted(_linked() - set(_documents())):
        if PurePosixPath(source).suffix in _PICTURES:
            files.append(File.generated(config, _place(source), abs_src_path=str(ROOT / source)))
        else:
            _add(files, config, _place(source), _source_text(source))
    return files


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """Points the links of a document to the places that their targets have on the site."""
    source = _source_of(page.file.src_uri)
    return _with_links(markdown, source, page.file.src_uri) if source else markdown


def _text(source: str) -> str:
    return (ROOT / source).read_text(encoding="utf-8")


def _listed(index: str, text: str) -> list[Any]:
    """The links of a list as entries of the navigation."""
    folder = PurePosixPath(index).parent.as_posix()
    return [{match["title"]: _place(normpath(f"{folder}/{match['target']}"))} for match in _ITEM_LINK.finditer(text)]


def _place(source: str) -> str:
    """Returns where a file of the project is on the site, as the path of its Markdown or picture."""
    if source in _documents():
        return _documents()[source]
    if source.startswith("docs/"):
        return source.removeprefix("docs/")
    return f"source/{source}" if PurePosixPath(source).suffix in _PICTURES else f"source/{source}.md"


def _source_of(page: str) -> str | None:
    """Returns the document of the project that is a page of the site; None for pages without one."""
    sources = {place: source for source, place in _documents().items()}
    if page in sources:
        return sources[page]
    return f"docs/{page}" if (ROOT / "docs" / page).is_file() else None


def _with_links(text: str, source: str, page: str) -> str:
    """Returns a document with its links as the site needs them; code blocks stay as they are."""
    folder = PurePosixPath(source).parent.as_posix()

    def pointed(match: re.Match[str]) -> str:
        target = normpath(f"{folder}/{match['target']}")
        if "://" in match["target"] or not (ROOT / target).exists():
            return match[0]  # strict MkDocs reports what leads nowhere
        return f"]({relpath(_place(target), PurePosixPath(page).parent.as_posix())}{match['anchor'] or ''})"

    parts, end = [], 0
    for block in blocks(text):
        parts += [_LINK.sub(pointed, text[end : block.start]), block.body]
        end = block.end
    return "".join([*parts, _LINK.sub(pointed, text[end:])])


def _demo_report() -> bytes:
    """Returns the report of the shipped model, as one page."""
    model = kibi.load(kibi.demo.model_path())
    return kibi.report(model, labels=[str(digit) for digit in range(10)], oracle=False).page


@cache
def _documents() -> Mapping[str, str]:
    """Returns the documents whose place on the site is another than in the project, with that place."""
    linked = {each for each in _linked() if each.endswith(".md")} - set(_MOVED)
    return {**_MOVED, **{source: re.sub(r"README\.md$", "index.md", source) for source in sorted(linked)}}


@cache
def _linked() -> frozenset[str]:
    """Returns the files and folders outside of `docs` that documents link, but for those of `_MOVED`."""
    found: set[str] = set()
    for path in (*(ROOT / name for name in _MOVED), *(ROOT / "docs").rglob("*.md")):
        folder = path.relative_to(ROOT).parent.as_posix()
        for match in _LINK.finditer(path.read_text(encoding="utf-8")):
            target = normpath(f"{folder}/{match['target']}")
            if "://" not in match["target"] and (ROOT / target).exists():
                found.add(target)
    return frozenset(each for each in found if each not in _MOVED and not each.startswith("docs/"))


def _source_text(source: str) -> str:
    """Returns the page that shows a source file, or the names of the files in a folder."""
    path = ROOT / source
    head = f"---\ntitle: {path.name}\nsearch:\n  exclude: true\n---\n\n# {source}\n\n"
    if path.is_dir():
        inside = sorted(each for each in path.rglob("*") if each.is_file() and "__pycache__" not in each.parts)
        return head + "".join(f"- `{each.relative_to(path).as_posix()}`\n" for each in inside)
    return f"{head}``````{_LANGUAGES.get(path.suffix, 'text')}\n{_text(source)}``````\n"


def _api_page(name: str) -> str:
    return f"python/{name.lower().replace(' ', '-')}.md"


def _api_text(name: str, members: tuple[str, ...]) -> str:
    """Returns a page of the reference; mkdocstrings fills in the docstrings."""
    return "\n".join([f"# {name}", "", *(f"::: kibi.{member}\n" for member in members)])


def _add(files: Files, config: MkDocsConfig, page: str, text: str) -> None:
    """Adds a page, or replaces the one of the same place."""
    known = files.get_file_from_path(page)
    if known is not None:
        files.remove(known)
    files.append(File.generated(config, page, content=text))
