"""Spark executes: DataFrame in, DataFrame out; `tables` is the only writer through Spark."""
