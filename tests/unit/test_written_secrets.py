"""What a TOML file says about who is told of failures holds no secret, and no job is told it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lakehouse.config import SourceConfig, parse_source
from lakehouse.errors import ConfigError
from lakehouse.plan.submission import Run, arguments

HEAD = 'connector = "mysql"\ntopic_prefix = "shop"\n'


def told(text: str) -> SourceConfig:
    return parse_source(f'{HEAD}[alerts]\nnotifier = "a.B"\narguments = {{ {text} }}\n', "shop")


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (
            'webhook_endpoint = "webhooks/1/s3cret"',
            "webhook_endpoint: expected no secret in a TOML",
        ),
        ('headers = { Authorization = "Bearer s3cret" }', "headers.Authorization: expected no"),
        ('headers = [{ X-Api-Key = "s3cret" }]', r"headers\[0\].X-Api-Key: expected no secret"),
        ('url = "https://lake:s3cret@desk/x"', r"url: expected no secret in the address \(not sho"),
        ('text = "see https://desk/x?a=1&access_token=s3cret"', "text: expected no secret in the"),
        ('url = "https://desk/x?sig=s3cret"', "url: expected no secret in the address"),
        ('to = [{ url = "https://hooks.desk/T1/s3cret" }]', r"to\[0\].url: expected no secret"),
        ('url = "https://desk/api/webhooks/1/s3cret"', "url: expected no secret in the address"),
        ('url = "https://desk[s3cret/"', "url: expected no secret in the address"),
        ('connect_token = "s3cret"', "connect_token: expected no secret in a TOML file"),
    ],
)
def test_a_secret_is_refused_at_whatever_depth(text: str, place: str) -> None:
    with pytest.raises(ConfigError, match=rf"alerts\.arguments\.{place}") as refused:
        told(text)
    assert str(refused.value).endswith("name an Airflow connection instead")
    assert "s3cret" not in str(refused.value)


@pytest.mark.parametrize(
    "text",
    [
        'slack_webhook_conn_id = "desk"',
        'to = ["a@b.c"], html_content = "https://airflow/dags/x?tab=runs#key-facts"',
        'url = "https://desk/x?token={{ conn.desk.password }}"',
        'subject = "late: {{ alert }}", lines = 3, extra = { link = "https://desk/x" }',
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    assert told(text).alerts.arguments


def test_a_job_is_told_everything_but_who_is_told() -> None:
    source = told('to = "canary@desk"')
    given = arguments(source, Run("run", "2026-01-01T00:00:00+00:00", archive=Path("/x")))
    config = given[given.index("--config") + 1]
    assert "canary@desk" not in json.dumps(given)
    assert SourceConfig.model_validate_json(config) == parse_source(HEAD, "shop")
