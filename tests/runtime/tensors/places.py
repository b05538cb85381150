"""Operators that are marked, for tests of who may reach bytes."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class MarkedOperator:
    """Something that may be marked fast."""

    is_fast: bool


FAST, SLOW = MarkedOperator(is_fast=True), MarkedOperator(is_fast=False)
