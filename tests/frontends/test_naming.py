"""Identifiers made from file names."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kibi.frontends.naming import identifier


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
    ],
)
def test_identifier_of_a_file_name_is_readable_and_free(file_name: str, expected: str) -> None:
    """Names keep what C allows, and step aside from keywords, standard types and Kibi's own names."""
    assert identifier(file_name) == expected


@given(st.text())
def test_identifier_of_any_text_is_a_c_identifier(file_name: str) -> None:
    """Whatever the file's name, the result can stand in C."""
    assert re.fullmatch(r"[a-z][a-z0-9_]*", identifier(file_name))
