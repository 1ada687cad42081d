"""Iterations over the rates of large sparse chains, without a subtraction in the last step."""
