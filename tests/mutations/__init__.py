"""Seeded bugs: lines of Kibi made wrong one at a time, each of which some quick test must notice."""
