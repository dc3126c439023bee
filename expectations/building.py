"""Makes Expectation Suites of Great Expectations from suites. Importing this takes seconds."""

from __future__ import annotations

from great_expectations import ExpectationSuite
from great_expectations.expectations.expectation_configuration import ExpectationConfiguration
from great_expectations.expectations.metadata_types import FailureSeverity

from expectations.suite import Suite


def build(suite: Suite) -> ExpectationSuite:
    """The Expectation Suite; each Expectation carries its rule's name and severity in `meta`."""
    return ExpectationSuite(
        name=suite.name,
        expectations=[
            ExpectationConfiguration(
                type=rule.expectation,
                kwargs=dict(rule.kwargs),
                meta={"rule": rule.name, "severity": rule.severity.value},
                description=rule.description,
                severity=FailureSeverity(rule.severity.value),
            )
            for rule in suite.rules
        ],
    )
