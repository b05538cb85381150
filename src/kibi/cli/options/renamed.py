"""Options that have a new name, and the warning that the earlier one gets."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from kibi.cli.failure import say_warning

RENAMED_FLAGS: Final[Mapping[str, str]] = MappingProxyType({
    "--supply": "--external-buffer",
    "--supply-outputs": "--external-outputs",
    "--offline": "--use-embedded-plan",
    "--embed": "--write-embedded-plan",
    "--optimize": "--goal",
})  # fmt: skip
"""The new name of each flag that was renamed. This version takes the earlier ones, too, with a warning; no `--help` shows them."""
RENAMED_HANDOVERS: Final[Mapping[str, str]] = MappingProxyType({"supplied": "external"})
"""The new name of each value of `--input` that was renamed."""


def current_flags(words: Sequence[str]) -> list[str]:
    """Returns the words of a command line with the new names of flags, and warns of each earlier one."""
    end = words.index("--") if "--" in words else len(words)
    current = []
    for word in words[:end]:
        flag, equals, value = word.partition("=")
        if flag in RENAMED_FLAGS:
            warn_renamed(flag, RENAMED_FLAGS[flag])
        current.append(RENAMED_FLAGS.get(flag, flag) + equals + value)
    return [*current, *words[end:]]


def current_handover(name: str | None) -> str | None:
    """Returns the new name of a value of `--input`, and warns of an earlier one."""
    if name is None or name not in RENAMED_HANDOVERS:
        return name
    warn_renamed(f"--input {name}", f"--input {RENAMED_HANDOVERS[name]}")
    return RENAMED_HANDOVERS[name]


def warn_renamed(old: str, new: str) -> None:
    """Warns of the earlier name of an option or of a value."""
    say_warning(f"{old} is now {new}. The next version does not take the earlier name.")
