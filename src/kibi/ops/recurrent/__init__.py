"""Operators with a memory of earlier inputs."""
