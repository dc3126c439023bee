"""No log line and no traceback shows what settings and the environment hold."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from lakehouse.config import Settings

CANARY = "canary-4f1d"
SECRETS = {
    "LAKEHOUSE_CATALOG_URI": f"postgresql://user:{CANARY}@127.0.0.1:1/catalog",
    "LAKEHOUSE_KAFKA": f'{{"bootstrap.servers": "127.0.0.1:1", "sasl.password": "{CANARY}"}}',
    "LAKEHOUSE_MASK_KEY": f"{CANARY}-of-keyed-hashes",
}
# The catalog cannot be reached: an error that is logged with its traceback and ends the process.
CRASHING = """
import os, sys
import structlog
from lakehouse.config import Settings, kafka_properties, mask_secret, parse_source
from lakehouse.logs import configure
from lakehouse.spark.control.ledger import Ledger

configure()
toml = 'connector = "mysql"\\ntopic_prefix = "shop"\\n'
toml += '[tables."shop.t"]\\ncolumns.a = { mask = "hash" }\\n'
settings = Settings.from_environment()
source = parse_source(toml, "shop")

def crash(settings, secret, properties, environment):
    print(repr(settings), file=sys.stderr)
    Ledger(settings).runs("shop")

try:
    crash(settings, mask_secret(source), kafka_properties(source, settings), dict(os.environ))
except Exception:
    structlog.get_logger().exception("crashed", settings=settings)
    raise
"""


@pytest.mark.parametrize("more", [{}, {"FORCE_COLOR": "1"}, {"NO_COLOR": "1"}])
def test_a_crash_shows_where_it_comes_from_and_no_value(
    tmp_path: Path, more: dict[str, str]
) -> None:
    environment = {**os.environ, **SECRETS, **more, "LAKEHOUSE_HOME": str(tmp_path)}

    ended = subprocess.run(
        [sys.executable, "-c", CRASHING],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )

    assert ended.returncode == 1
    shown = ended.stdout + ended.stderr
    assert "crashed" in ended.stdout
    assert shown.count("in crash") == 2
    assert all("OperationalError" in text for text in (ended.stdout, ended.stderr))
    assert CANARY not in shown


def test_settings_are_shown_without_the_address_that_may_hold_a_password() -> None:
    settings = Settings.from_environment(SECRETS)

    assert CANARY in settings.catalog_uri
    assert CANARY not in f"{settings} {settings!r}"
