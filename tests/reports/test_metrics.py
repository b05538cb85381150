"""Figures of classifiers and detectors, against cases that are computed by hand and against definitions."""

import numpy as np
import pytest

from kibi.reports.metrics import ClassFigures, area_under_curve, best_threshold, confusion_matrix


def test_confusion_matrix_counts_labels_and_answers() -> None:
    """Inputs without a label do not count; those without an answer are in the last column."""
    labels = np.array([0, 0, 1, 2, 2, 2, -1, 1])
    answers = np.array([0, 1, 1, 2, 0, 2, 0, -1])
    assert confusion_matrix(labels, answers, 3).tolist() == [[1, 1, 0, 0], [0, 1, 0, 1], [1, 0, 2, 0]]


def test_figures_of_a_class_by_hand() -> None:
    """Three of four answers are right, three of six inputs are found."""
    figures = ClassFigures("cat", inputs=6, answers=4, right=3)
    assert [figures.precision, figures.recall, figures.f1] == pytest.approx([0.75, 0.5, 0.6])
    never = ClassFigures("dog", inputs=2, answers=0, right=0)
    assert (never.precision, never.recall, never.f1) == (None, 0, 0)
    absent = ClassFigures("cow", inputs=0, answers=0, right=0)
    assert (absent.precision, absent.recall, absent.f1) == (None, None, None)


@pytest.mark.parametrize(
    ("normal", "anomalous", "expected"),
    [
        ([1, 2], [3, 4], 1.0), ([3, 4], [1, 2], 0.0), ([1, 3], [2, 4], 0.75), ([1, 1], [1, 1], 0.5),
        ([1, 2, 2], [2], (1 + 0.5 + 0.5) / 3), ([-np.inf, 0], [np.inf], 1.0), ([1], [], None), ([], [1], None),
    ],
)  # fmt: skip
def test_area_under_curve_by_hand(normal: list[float], anomalous: list[float], expected: float | None) -> None:
    """How many pairs are in order; equal ones count half."""
    scores = np.array([*normal, *anomalous], np.float64)
    positive = np.array([False] * len(normal) + [True] * len(anomalous), np.bool_)
    assert area_under_curve(scores, positive) == expected
    assert area_under_curve(scores[::-1], positive[::-1]) == expected


@pytest.mark.parametrize("seed", range(20))
def test_area_under_curve_is_the_part_of_pairs_in_order(seed: int) -> None:
    """By its definition, on drawn scores with many equal ones."""
    random = np.random.default_rng(seed)
    scores, positive = random.integers(0, 12, 60).astype(np.float64), random.random(60) < 0.3
    pairs = scores[positive][:, None] - scores[~positive][None, :]
    expected = ((pairs > 0).sum() + 0.5 * (pairs == 0).sum()) / pairs.size
    assert area_under_curve(scores, positive) == pytest.approx(expected, abs=1e-12)


def test_best_threshold_by_hand() -> None:
    """Two of three found without a false alarm are better than all with one in two."""
    found = best_threshold(np.array([1.0, 5, 2, 6, 7]), np.array([False, False, True, True, True]))
    assert found is not None
    assert [found.score, found.found, found.false_alarms] == pytest.approx([6, 2 / 3, 0])
    assert best_threshold(np.array([1.0]), np.array([True])) is None


@pytest.mark.parametrize("seed", range(20))
def test_best_threshold_is_the_best_of_all(seed: int) -> None:
    """Each score is tried."""
    random = np.random.default_rng(seed)
    scores, positive = random.integers(0, 9, 40).astype(np.float64), random.random(40) < 0.4
    found = best_threshold(scores, positive)
    assert found is not None
    tried = [(scores[positive] >= each).mean() - (scores[~positive] >= each).mean() for each in scores]
    assert found.found - found.false_alarms == pytest.approx(max(tried))
    assert found.found == pytest.approx((scores[positive] >= found.score).mean())
    assert found.false_alarms == pytest.approx((scores[~positive] >= found.score).mean())
