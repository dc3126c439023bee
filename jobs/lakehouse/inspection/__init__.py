"""Reads the facts that `lakehouse.plan.doctor` judges: Connect, Kafka, the database. No writes."""
