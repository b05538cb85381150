"""Names of regions: one rule for those of files, of saved plans and of plans by hand, because they become names in C."""

from collections.abc import Sequence

from kibi.text.c import name_problem

_SUFFIXES = ("_bytes", "_alignment")
"""A region has a macro of its own name, and one with each of these after it."""


def names_problem(names: Sequence[object]) -> str:
    """Returns what is wrong with the names of regions that go together, and what to do; empty where nothing is."""
    seen: dict[str, str] = {}
    for name in names:
        problem = name_problem(name)
        if problem or not isinstance(name, str):
            return f"region {str(name)[:40]!r}: name is {repr(name)[:60]}. {problem}."
        if name.lower() in seen:
            other = seen[name.lower()]
            return (
                f"region {name!r}: name is taken by another region, {other!r}. Give each a name of its own; "
                "upper and lower case count as one."
            )
        seen[name.lower()] = name
    for low, name in seen.items():
        for suffix in _SUFFIXES:
            owner = seen.get(low.removesuffix(suffix))
            if low.endswith(suffix) and owner is not None:
                return (
                    f"region {name!r}: region {owner!r} has a macro of this name, for its {suffix[1:]}. "
                    "Give one of them another name."
                )
    return ""
