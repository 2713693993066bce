"""A package of someone else: a learner and a problem that goalbound knows nothing about."""
