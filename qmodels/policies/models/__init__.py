"""Models of policies: each a class in a file of its own, what they are made of, and what is made of them."""

from qmodels.entries import load_entries

load_entries(__name__)
