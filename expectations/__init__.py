"""Expectation suites as data, and the registry of them.

A new suite is one module here and one line in SUITES. Importing this does not import Great
Expectations; `expectations.building` does.
"""

from __future__ import annotations

from collections.abc import Mapping

from expectations import bronze, quarantine, schema_changes, schema_history, silver, transactions
from expectations.suite import Rule, Severity, Suite, counts_as_passed

SUITES: Mapping[str, Suite] = {
    module.SUITE.name: module.SUITE
    for module in (bronze, schema_changes, schema_history, transactions, quarantine, silver)
}

__all__ = ["SUITES", "Rule", "Severity", "Suite", "counts_as_passed"]
