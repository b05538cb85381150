"""The text of files that Kibi writes."""

from kibi.text.c import CCode
from kibi.text.cmake import CMakeText
from kibi.text.json import JsonText
from kibi.text.own_text import OwnText
from kibi.text.package import PackageText

FileText = CCode | CMakeText | JsonText | OwnText | PackageText
"""Text in a language of which only this package makes texts."""
