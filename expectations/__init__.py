"""Expectation suites as data, and the registry of them.

A new suite is one module here and one line in SUITES. Importing this does not import Great
Expectations; `expectations.building` does.
"""

from __future__ import annotations

from collections.abc import Mapping

from expectations import bronze, schema_changes, silver, transactions
from expectations.suite import Rule, Severity, Suite

SUITES: Mapping[str, Suite] = {
    suite.name: suite
    for suite in (bronze.SUITE, schema_changes.SUITE, transactions.SUITE, silver.SUITE)
}

__all__ = ["SUITES", "Rule", "Severity", "Suite"]
