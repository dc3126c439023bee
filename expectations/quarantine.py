"""Suite `quarantine`: what is set aside is the exception; else something is wrong at large."""

from __future__ import annotations

from expectations.suite import Suite, at_most

SUITE = Suite(
    name="quarantine",
    subject="topic partition",
    description="Of the messages that were to be applied, few were set aside.",
    rules=(
        at_most(
            "quarantined",
            "quarantine_limit",
            "At most half of the messages that this run was to apply were set aside, or a hundred: "
            "more are no single bad message, but a topic, a converter or a file that is wrong.",
        ),
    ),
)
