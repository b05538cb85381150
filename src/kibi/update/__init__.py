"""Updates in the field: keys, and packages that bring a device another plan file."""
