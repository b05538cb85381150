"""Identifiers made from file names."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kibi.frontends.naming import identifier
from kibi.text.reserved import BUILD_TARGETS, HEADERS, KEYWORDS, why_reserved


@pytest.mark.parametrize(
    ("file_name", "expected"),
    [
        ("mlperf_kws_int8.tflite", "mlperf_kws_int8"),
        ("MLPerf-KWS (int8).tflite", "mlperf_kws_int8"),
        ("model.int8.tflite", "model_int8"),
        ("model.tflite.bin", "model"),
        ("85-percent.tflite", "model_85_percent"),
        ("int.tflite", "int_model"),
        ("Class.tflite", "class_model"),
        ("co_await.tflite", "co_await_model"),
        ("int8.tflite", "int8_model"),
        ("size.tflite", "size_model"),
        ("kibi.tflite", "model_kibi"),
        ("kibi_conv2d_s8.tflite", "model_kibi_conv2d_s8"),
        ("__mine__.tflite", "mine"),
        ("modèle.tflite", "modele"),
        ("模型.tflite", "model"),
        (".tflite", "model"),
        ("folder/kws.tflite", "kws"),
        ("", "model"),
        ("string.tflite", "string_model"),
        ("Features.tflite", "features_model"),
        ("example_main.tflite", "example_main_model"),
        ("install.tflite", "install_model"),
        ("pthread.tflite", "pthread_model"),
        ("con.tflite", "con_model"),
    ],
)
def test_identifier_of_a_file_name_is_readable_and_free(file_name: str, expected: str) -> None:
    """Names keep what C allows, and step aside from keywords, standard types and Kibi's own names."""
    assert identifier(file_name) == expected


@given(st.text())
def test_identifier_of_any_text_is_a_c_identifier(file_name: str) -> None:
    """Whatever the file's name, the result can stand in C, and breaks no library."""
    name = identifier(file_name)
    assert re.fullmatch(r"[a-z][a-z0-9_]*", name)
    assert why_reserved(name) == ""


def test_identifier_steps_aside_from_every_reserved_name() -> None:
    """A file that is called so compiles, under a name that is free."""
    for name in HEADERS | KEYWORDS | BUILD_TARGETS:
        assert why_reserved(name)
        assert why_reserved(identifier(f"{name}.tflite")) == ""
