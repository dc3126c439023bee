"""Suite `transactions`: BEGIN and END say which events belong together, and all have come."""

from __future__ import annotations

from expectations.suite import Severity, Suite, none_of

SUITE = Suite(
    name="transactions",
    subject="transaction metadata topic",
    description="BEGIN and END pair up, and what END counts has landed.",
    rules=(
        none_of(
            "messages_in_other_partitions",
            "The transaction metadata topic has one partition, so that commits are in order.",
        ),
        none_of(
            "unreadable_marks",
            "Every message is a BEGIN or an END with the id of its transaction.",
            severity=Severity.WARNING,
        ),
        none_of(
            "ends_without_begin",
            "Every END has a BEGIN that landed with it or before it.",
            severity=Severity.WARNING,
        ),
        none_of(
            "ends_before_begin",
            "No END stands before the BEGIN of its transaction.",
            severity=Severity.WARNING,
        ),
        none_of(
            "lost_ends",
            "Every transaction before one that has ended has an END too.",
            severity=Severity.WARNING,
        ),
        none_of(
            "differing_ends",
            "Where a connector sends an END again, it counts the same.",
            severity=Severity.WARNING,
        ),
        none_of(
            "miscounted_ends",
            "The event_count of every END is the sum of its data collections.",
            severity=Severity.WARNING,
        ),
        none_of(
            "short_transactions",
            "Of no transaction fewer events landed than END counts, where later ones did: "
            "the others are lost or in quarantine.",
            severity=Severity.WARNING,
        ),
        none_of(
            "surplus_transactions",
            "Of no transaction more events landed than END counts.",
            severity=Severity.WARNING,
        ),
        none_of(
            "transactions_with_unlisted_events",
            "No transaction has events of a data collection that its END does not list.",
            severity=Severity.WARNING,
        ),
        none_of(
            "overdue_transactions",
            "No transaction was applied in part because its END or its events did not come within "
            "transactions.timeout.",
            severity=Severity.WARNING,
            beside=("open_transactions",),
        ),
    ),
)
