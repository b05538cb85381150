"""Earlier flags still work, with a warning that names the new one."""

from pathlib import Path

import pytest

from kibi.cli.options.renamed import RENAMED_FLAGS, current_flags
from tests.cli.conftest import Kibi

_VERBS = ("compile", "measure", "plan", "verify")


@pytest.mark.parametrize("old", RENAMED_FLAGS)
def test_earlier_flag_is_hidden_and_the_new_one_is_there(kibi: Kibi, old: str) -> None:
    """`--help` shows what is to be used."""
    pages = [kibi(verb, "--help").out.split() for verb in _VERBS]
    assert not any(old in page for page in pages)
    assert any(RENAMED_FLAGS[old] in page for page in pages)


@pytest.mark.share(3, part=0)
@pytest.mark.parametrize(
    ("old", "new"),
    [
        (("--supply", "stem"), ("--external-buffer", "stem")),
        (("--supply=stem",), ("--external-buffer", "stem")),
        (("--supply-outputs",), ("--external-outputs",)),
        (("--input", "supplied"), ("--input", "external")),
        (("--optimize", "flash"), ("--goal", "flash")),
    ],
)
def test_earlier_flag_gives_the_same_plan_and_warns(
    kibi: Kibi, glyphs: Path, old: tuple[str, ...], new: tuple[str, ...]
) -> None:
    """Standard output is the same; standard error says the new name."""
    common = ("plan", glyphs, "--ascii", "--no-longest-step")
    wanted, made = kibi(*common, *new), kibi(*common, *old)
    assert (made.code, made.out) == (0, wanted.out)
    assert not wanted.err
    assert made.err.startswith("kibi: warning: --")
    assert f" is now {' '.join(new) if 'supplied' in old else new[0]}. " in made.err


def test_earlier_flags_of_plans_in_files_work(kibi: Kibi, glyphs: Path, tmp_path: Path) -> None:
    """`--embed` writes a plan, `--offline` follows it."""
    written = kibi("plan", "--no-longest-step", glyphs, "--embed", tmp_path / "out.tflite")
    assert (written.code, "--write-embedded-plan" in written.err) == (0, True)
    followed = kibi("plan", "--no-longest-step", tmp_path / "out.tflite", "--offline")
    assert (followed.code, "--use-embedded-plan" in followed.err) == (0, True)


def test_words_after_two_dashes_are_no_flags() -> None:
    """A file may have a flag's name."""
    assert current_flags(["plan", "--", "--supply"]) == ["plan", "--", "--supply"]
