"""Data quality: metrics by Spark, judgement by Great Expectations, reports and Data Docs."""
