"""Bugs in packages: golden vectors, what text may hold, and what is left of an earlier package."""

from tests.mutations.mutation import Mutation

PACKAGES = (
    Mutation(
        "packages.golden-words-are-others-than-the-examples",
        "packages/golden.py",
        "word = ((word ^ (word >> 12)) * _SECOND) & _MASK",
        "word = ((word ^ (word >> 13)) * _SECOND) & _MASK",
        "Kibi computes its golden outputs on other inputs than the examples run.",
        ("tests/packages/test_kinds.py", "-k", "any_language"),
    ),
    Mutation(
        "packages.quotes-stay-in-sentences",
        "text/package.py",
        'each in " ._-"',
        "each in ' ._-\"'",
        "A name of a file with a quote ends the string of a manifest.",
        ("tests/packages/test_hostile.py", "-k", "manifests"),
    ),
    Mutation(
        "packages.file-in-a-linked-folder-goes",
        "codegen/earlier.py",
        "any((directory / each).is_symlink() for each in Path(name.path).parents) or path.is_symlink()",
        "path.parent.is_symlink() or path.is_symlink()",
        "A file is removed through a link that replaced an outer folder of an earlier package.",
        ("tests/packages/test_kinds.py", "-k", "linked_folder"),
    ),
    Mutation(
        "packages.emptied-folders-stay",
        "files/writing.py",
        "_remove_empty(directory / name for name in _folders_of(obsolete))",
        "_remove_empty(directory / name for name in ())",
        "The folders of an earlier package stay when their last file has gone.",
        ("tests/packages/test_kinds.py", "-k", "changed_file"),
    ),
)
