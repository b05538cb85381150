"""Text from outside becomes text in a language: for each language one type, and the functions that make it.

Models, plans, file names and options may hold any text. The writers of files take the types of this package and nothing else,
and foreign text becomes one only through the functions here: so what was forgotten is a type error.

    template   what all of them have in common
    c          C code, and in it comments, names, string literals, numbers
    package    manifests, build files and scripts of packages, with words and sentences in them
    cmake      CMake code, and in it comments and arguments
    markup     SVG and HTML, and in it text and attributes
    json       JSON
    markdown   cells of Markdown tables
    file_name  the name of a file in a folder
    file_text  any of these that a file may hold
    reserved   names that would break a C library
"""
