"""The text of files that Kibi writes."""

from kibi.text.c import CCode
from kibi.text.cmake import CMakeText
from kibi.text.json import JsonText
from kibi.text.own_text import OwnText

FileText = CCode | CMakeText | JsonText | OwnText
"""Text in a language of which only this package makes texts."""
