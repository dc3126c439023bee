"""Change events from databases, as correct and proven Apache Iceberg tables."""
