"""Witnesses: slow, plain answers to the questions that the planner answers fast. They share no code with it."""
