"""From two releases to a number: encodings, adversaries, divergences, bounds. Knows no oracle and no disk."""
