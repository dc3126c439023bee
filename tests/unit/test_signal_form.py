"""The form of a signal Dag and the command that it becomes."""

from __future__ import annotations

import pytest

from lakehouse.errors import ConfigError
from lakehouse.plan.signals.form import Form, following, sending

HOSTILE = "--no-follow; touch x"


def test_a_whole_form_becomes_the_command_s_options():
    form = Form.of(
        {
            "action": "execute",
            "tables": ["public.orders", " public.lines ", ""],
            "type": "blocking",
            "conditions": ["id > 5", HOSTILE],
            "surrogate_key": "",
            "channel": "kafka",
            "raw": None,
        }
    )
    given = sending("shop", form, "run-1", "ann")
    name = next(each for each in given if each.startswith("--id="))
    assert given == [
        "signal",
        "--source=shop",
        "snapshot",
        name,
        "--by=ann",
        "--channel=kafka",
        "--table=public.orders",
        "--table=public.lines",
        "--type=blocking",
        "--where=id > 5",
        f"--where={HOSTILE}",
        "--no-follow",
    ]


def test_fields_that_stay_empty_become_no_options():
    params = {"action": "resume", "tables": [], "surrogate_key": None, "channel": "any"}
    given = sending("shop", Form.of(params), "run-1", "ann")
    assert [each for each in given if not each.startswith("--id=")] == [
        "signal",
        "--source=shop",
        "resume",
        "--by=ann",
        "--no-follow",
    ]


def test_a_retry_sends_the_same_id_and_another_run_does_not():
    form = Form("pause")
    first, again, other = (sending("shop", form, run, "ann") for run in ("a", "a", "b"))
    assert first == again
    assert first != other
    assert first != sending("depot", form, "a", "ann")


@pytest.mark.parametrize(
    ("form", "words"),
    [
        (Form("stop", conditions=("id > 5",)), "conditions: expected nothing with 'stop'"),
        (Form("pause", tables=("a.b",)), "tables: expected nothing with 'pause'"),
        (Form("resume", raw="a", surrogate_key="b"), "raw, surrogate_key"),
    ],
)
def test_a_field_that_the_action_does_not_take_is_an_error(form: Form, words: str):
    with pytest.raises(ConfigError, match=words):
        sending("shop", form, "a", "ann")


def test_tables_may_be_left_out_of_a_snapshot_that_runs():
    given = sending("shop", Form("stop", tables=("a.b",)), "a", "ann")
    assert given[2] == "stop"
    assert "--table=a.b" in given


def test_what_was_sent_is_never_taken_for_an_option():
    assert following("shop", "{}")[-2:] == ["--", "{}"]
