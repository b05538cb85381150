"""Channels that hold the same number whatever the input: found, proven, and left out."""
