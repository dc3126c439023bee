"""What Kafka's topics and archives hold, what of it is landed, and what is wrong with them."""
