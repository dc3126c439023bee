"""Messages of Kafka and of topic archives into bronze, each once."""
