"""Operators that are not Kibi's own: their registration, their plugins, their options."""
