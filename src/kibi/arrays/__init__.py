"""Arrays in files: NumPy files, images, text; inputs read and outputs written."""
