"""Blind votes and other opinions on two answers, and what they add up to."""
