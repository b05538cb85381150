"""Operators on single elements: functions, arithmetic, comparisons, conversions of type."""
