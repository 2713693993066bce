"""A store over HTTP: programs ask what to do next, and report what came of it."""
