"""Earlier names still work, and warn."""

import warnings

import pytest

import kibi
import kibi.ir
from kibi.planner import Handover
from kibi.renames import renamed_keywords, renamed_value
from tests.planner.networks import residual


def test_renamed_keyword_warns_at_the_caller_and_is_passed_on() -> None:
    """The warning names both names, and the caller's file."""

    @renamed_keywords(old="new")
    def function(*, new: int = 0) -> int:
        return new

    with pytest.warns(DeprecationWarning, match="old= is now new=") as caught:
        assert function(old=3) == 3  # type: ignore[call-arg]
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert function(new=4) == 4
    with pytest.raises(TypeError, match="'new' or its earlier name 'old'"):
        function(old=3, new=4)  # type: ignore[call-arg]


def test_renamed_value_warns_and_others_stay() -> None:
    """Only an earlier value is another."""
    with pytest.warns(DeprecationWarning, match="'old' is now 'new'"):
        assert renamed_value("old", {"old": "new"}) == "new"
    assert renamed_value("other", {"old": "new"}) == "other"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ({"supply": [1]}, {"external_buffers": [1]}),
        ({"optimize": "flash"}, {"goal": "flash"}),
        ({"input": "supplied"}, {"input": "external"}),
    ],
)
def test_plan_takes_earlier_words(old: dict[str, object], new: dict[str, object]) -> None:
    """`kibi.plan` makes the same plan of them."""
    with pytest.warns(DeprecationWarning, match=" is now "):
        made = kibi.plan(residual(), **old)  # type: ignore[arg-type]
    assert made == kibi.plan(residual(), **new)  # type: ignore[arg-type]


def test_handover_has_one_name_for_external_buffers() -> None:
    """The earlier one is no member."""
    assert [each.value for each in Handover] == ["stored", "streamed", "external"]


def test_node_views_have_their_earlier_name_for_operators_outside_of_kibi() -> None:
    """It is the same class."""
    with pytest.warns(DeprecationWarning, match=r"kibi\.ir\.Site is now kibi\.ir\.NodeView"):
        assert kibi.ir.Site is kibi.ir.NodeView
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        kibi.ir.Nothing  # noqa: B018
