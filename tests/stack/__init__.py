"""Real databases, Kafka, Connect and Airflow."""
