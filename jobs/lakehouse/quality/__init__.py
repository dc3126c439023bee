"""Data quality: metrics from Spark, judged by Great Expectations, shown as reports and Data Docs."""
