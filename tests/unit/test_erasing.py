"""Erasure: how keys are given and named."""

from __future__ import annotations

import html
import json

import pytest

from lakehouse.errors import ConfigError, StepFailed
from lakehouse.plan.remaking.erasing import Erasure, key_values, names_of, refuse


@pytest.mark.parametrize(
    ("text", "columns", "values"),
    [
        ('{"id": 17}', ("id",), ("17",)),
        ('["17"]', ("id",), ("17",)),
        ('{"b": "x", "a": null}', ("a", "b"), (None, "x")),
        ("[1.10, true]", ("a", "b"), ("1.10", "true")),
    ],
)
def test_a_key_is_given_as_an_object_or_a_list(text: str, columns, values):
    assert key_values(text, columns) == values


@pytest.mark.parametrize("text", ["17", "{}", '{"other": 1}', "[1, 2]", "not JSON", '"id"'])
def test_other_keys_are_refused_without_being_told(text: str):
    with pytest.raises(ConfigError, match=r"expected \{column: value\}") as refused:
        key_values(text, ("id",))
    assert text not in str(refused.value) or text == '"id"'


@pytest.mark.parametrize("value", ["17", "o'neil <b>&\"", "naïve\n"])
def test_a_key_is_found_however_it_is_written(value: str):
    names = names_of([(value,)], ("id",))
    shown = json.dumps([value], separators=(",", ":"), ensure_ascii=False)
    sample = json.dumps({"id": value}, separators=(",", ":"), ensure_ascii=False)
    for text in (shown, sample):
        assert any(name in f"rows differ: {text}" for name in names.plain)
        document = json.dumps({"keys": [text]}, ensure_ascii=False)
        [named, *_] = [name for name in names.in_json if name in document]
        assert json.loads(document.replace(named, "erased")) == {"keys": ["erased"]}
        assert any(name in html.escape(text) for name in names.in_html)


def test_what_is_asked_for_travels_whole():
    asked = Erasure("public.customers", ('{"id": 17}', '["x"]'), "ann", forget_key=True)
    assert Erasure.from_json(asked.to_json()) == asked


@pytest.mark.parametrize(("live", "waiting"), [(1, 0), (0, 2)])
def test_what_is_not_over_is_refused(live: int, waiting: int):
    with pytest.raises(StepFailed, match="then erase again"):
        refuse("public.customers", live=live, waiting=waiting)
