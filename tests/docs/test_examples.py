"""What the documents show of the examples is what the examples have."""

from tests.docs.documents import DOCS, ROOT

_EXAMPLE = ROOT / "examples" / "custom_operator"


def test_tutorial_of_custom_operators_shows_the_files_of_the_example() -> None:
    """The operator, its kernel and its entry point are in the tutorial as they are in the example."""
    text = (DOCS / "custom-operators.md").read_text(encoding="utf-8")
    folder = _EXAMPLE / "kibi_motion"
    for name in ("kibi_frame_difference_s8.c", "kibi_frame_difference_s8.h"):
        assert (folder / name).read_text(encoding="utf-8") in text
    source = (folder / "frame_difference.py").read_text(encoding="utf-8")
    assert source[source.index("class FrameDifferenceParams") : source.index("FRAME_DIFFERENCE = ")].rstrip() in text
    assert (_EXAMPLE / "pyproject.toml").read_text(encoding="utf-8").partition("[project.entry")[2] in text
