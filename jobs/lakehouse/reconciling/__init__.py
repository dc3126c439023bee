"""Reads a source and its silver, and compares them by the rules of `lakehouse.plan.reconciling`."""
