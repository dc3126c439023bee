"""The demonstration: a workload on real databases, and silver compared with their rows."""
