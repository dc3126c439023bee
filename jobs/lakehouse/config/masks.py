"""The secret that masked values are hashed with: from the environment, and from nowhere else."""

from __future__ import annotations

import os
from collections.abc import Mapping

from lakehouse.config.source import SourceConfig
from lakehouse.errors import ConfigError

MASK_KEY = "LAKEHOUSE_MASK_KEY"
_SHORTEST = 16


def mask_secret(source: SourceConfig, environment: Mapping[str, str] | None = None) -> bytes:
    """The secret of `mask = "hash"`; empty where no column of the source has it.

    Args:
        source: Its tables say whether a secret is needed.
        environment: The variables; None means those of this process.

    Raises:
        ConfigError: It is needed, and missing or too short. It is not shown.
    """
    hashed = [
        f'tables."{table}".columns.{name}'
        for table, options in source.tables.items()
        for name, column in options.columns.items()
        if column.mask == "hash"
    ]
    if not hashed:
        return b""
    given = os.environ if environment is None else environment
    secret = given.get(MASK_KEY, "").encode()
    if len(secret) < _SHORTEST:
        raise ConfigError(
            f"source {source.name!r}: {hashed[0]} has the mask 'hash' and {MASK_KEY} has "
            f"{len(secret)} bytes: expected a secret of at least {_SHORTEST} in the environment "
            "of the jobs, always the same one (such as of `openssl rand -hex 32`)"
        )
    return secret
