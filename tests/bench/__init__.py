"""The benchmark: `python -m tests.bench`. Not part of the tests, for a busy machine must not fail them."""
