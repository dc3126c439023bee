"""Signals: what a person asks of a connector, as the record that it reads, and what came of it.

Facts about Debezium are from its source, version 3.6.1.Final and the earlier ones that are named.
"""
