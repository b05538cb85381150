"""Identifiers are names that compare as integers."""

from kibi.eager.events import fnv1a
from kibi.eager.identifier import Identifier


def test_identifier_compares_by_hash() -> None:
    """Equal names are equal, ordered by hash, and have the published hash."""
    a, b = Identifier("input"), Identifier("filter")
    assert a == Identifier("input")
    assert a != b
    assert (a < b) == (fnv1a("input") < fnv1a("filter"))
    assert (a.value, hash(a), a.text, str(a)) == (fnv1a("input"), fnv1a("input"), "input", "input")
    assert {a: 1}[Identifier("input")] == 1


def test_identifier_of_a_shared_hash_is_another() -> None:
    """Two names whose hashes are the same by chance are two names."""
    a, b = Identifier("costarring"), Identifier("liquid")
    assert a.value == b.value
    assert a != b
    assert (a < b) != (b < a)


def test_identifier_is_no_text() -> None:
    """A text is not an identifier, as its own hash is another."""
    assert Identifier("input") != "input"
