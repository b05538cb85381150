"""The user's files: bounded reading, and complete writing."""

from kibi.files.digests import files_digest
from kibi.files.folders import temporary_folder
from kibi.files.reading import open_binary, read_bytes, read_file, read_text, take
from kibi.files.writing import check_file, check_folder, check_path, write_file, write_folder, write_new_file

__all__ = [
    "check_file",
    "check_folder",
    "check_path",
    "files_digest",
    "open_binary",
    "read_bytes",
    "read_file",
    "read_text",
    "take",
    "temporary_folder",
    "write_file",
    "write_folder",
    "write_new_file",
]
