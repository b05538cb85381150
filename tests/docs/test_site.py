"""The documents as a site: `make site`."""

import re
import runpy
import subprocess
import sys
from html import unescape
from importlib.util import find_spec
from pathlib import Path

import pytest

import kibi
from tests.docs.documents import DOCS, ROOT

_ROOMS = ["First steps", "Models", "Device", "Reference", "Decisions"]
_WITHOUT_NETWORK = """
import socket, sys
def refuse(*_): raise OSError("the site must be built without the network")
socket.socket.connect = socket.getaddrinfo = refuse
from mkdocs.__main__ import cli
cli(["build", "--site-dir", sys.argv[1]])
"""
_LOADED = re.compile(r"<(?:script|img|source|iframe)\b[^>]*\bsrc=\"?([^\"\s>]+)|<link\b[^>]*\bhref=\"?([^\"\s>]+)")
_IN_STYLES = re.compile(r"(?:url\(|@import)\s*[\"']?(https?:)?//")
_SAVED_CODE = re.compile(r"<pre.*?</pre>", re.DOTALL)
_TORN = re.compile(r"<p>[^<]*\n(?:[-*|]|\d+\.) ")


def _api() -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = runpy.run_path(str(DOCS / "api_pages.py"))["API"]
    return found


def test_every_public_name_has_a_page_of_the_reference() -> None:
    """What `import kibi` offers is on one page of the site's reference."""
    listed = [name for names in _api().values() for name in names if "." not in name]
    assert sorted(listed) == sorted(set(kibi.__all__) - {"__version__"})


def test_rooms_of_the_site_are_the_sections_of_the_index() -> None:
    """The documents' index, from which the site's navigation is made, has the five rooms."""
    assert re.findall(r"^## (.+)$", (DOCS / "index.md").read_text(encoding="utf-8"), re.MULTILINE) == _ROOMS


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built by strict MkDocs in a process that cannot open connections."""
    if find_spec("mkdocs") is None or find_spec("mkdocstrings") is None:
        pytest.skip("MkDocs is not installed: `make site` installs it")
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-c", _WITHOUT_NETWORK, str(folder)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert not done.returncode, f"{done.stdout}\n{done.stderr}"
    assert "WARNING" not in done.stderr
    return folder


@pytest.mark.slow
def test_site_loads_nothing_from_the_network(site: Path) -> None:
    """Scripts, styles, pictures and fonts of each page are files of the site, which exist."""
    pages = list(site.rglob("*.html"))
    loaded = 0
    for page in pages:
        for match in _LOADED.finditer(_SAVED_CODE.sub("", page.read_text(encoding="utf-8"))):
            target = unescape(match[1] or match[2])
            assert not re.match(r"(?:\w+:)?//", target), f"{page}: {target}"
            # A page for addresses that do not exist cannot know its own place.
            if not target.startswith(("data:", "/")) and page.name != "404.html":
                assert (page.parent / re.sub(r"[?#].*", "", target)).exists(), f"{page}: {target}"
                loaded += 1
    assert loaded > len(pages)
    for style in site.rglob("*.css"):
        assert not _IN_STYLES.search(style.read_text(encoding="utf-8")), style


@pytest.mark.slow
def test_site_has_every_document_and_public_name(site: Path) -> None:
    """Each document is a page, each public name a section with its signature, and the search knows both."""
    places = {path.relative_to(DOCS).with_suffix("").as_posix() for path in DOCS.rglob("*.md")} - {"index"}
    for place in (
        *(each.removesuffix("/index") for each in places),
        "documents",
        "contributing",
        "security",
        "changes",
    ):
        assert (site / place / "index.html").is_file(), place
    index = (site / "search" / "search_index.json").read_text(encoding="utf-8")
    for title, names in _api().items():
        place = f"python/{title.lower().replace(' ', '-')}"
        page = (site / place / "index.html").read_text(encoding="utf-8")
        for name in names:
            assert f'id="kibi.{name}"' in page, name
            assert f'"location":"{place}/#kibi.{name}"' in index, name
    assert '"location":"tutorial/' in index
    assert '"location":"source/' not in index


@pytest.mark.slow
def test_site_has_the_live_demo(site: Path) -> None:
    """The report of the shipped model, which runs the model, is a file of the site and inside of a page."""
    report = (site / "glyphs.html").read_bytes()
    assert b"WebAssembly" in report
    assert b"<title>" in report
    page = (site / "demo" / "index.html").read_text(encoding="utf-8")
    assert 'src="../glyphs.html"' in page
    assert "Live demo" in (site / "index.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_site_shows_lists_and_tables_as_such(site: Path) -> None:
    """MkDocs reads the Markdown as a forge does: no list and no table ends up inside of a paragraph."""
    for page in site.rglob("*.html"):
        torn = _TORN.search(_SAVED_CODE.sub("", page.read_text(encoding="utf-8")))
        assert torn is None, f"{page}: {torn[0]}"


@pytest.mark.slow
def test_link_that_leads_nowhere_fails_the_build(site: Path, tmp_path: Path) -> None:
    """A link to a missing document, or to a missing section, ends the build with its place."""
    del site  # which shows that MkDocs is here
    for name in (
        "docs",
        "mkdocs.yml",
        "README.md",
        "CONTRIBUTING.md",
        "SECURITY.md",
        "CHANGELOG.md",
        "examples",
        "src",
    ):
        if name != "docs":
            (tmp_path / name).symlink_to(ROOT / name)
    docs = tmp_path / "docs"
    docs.mkdir()
    for path in DOCS.iterdir():
        if path.name != "boards.md":
            (docs / path.name).symlink_to(path)
    text = (DOCS / "boards.md").read_text(encoding="utf-8")
    (docs / "boards.md").write_text(
        f"{text}\nSee [this](absent.md) and [that](tutorial.md#absent).\n", encoding="utf-8"
    )
    done = subprocess.run(
        [sys.executable, "-c", _WITHOUT_NETWORK, str(tmp_path / "site")],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode
    assert "absent.md" in done.stderr
    assert "#absent" in done.stderr
