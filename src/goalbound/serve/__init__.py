"""The decision service: a durable store of learners and open cases, its HTTP service, and the client."""
