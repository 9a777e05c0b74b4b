"""Metrics of one release: k, ℓ, t, discrimination rate, information loss, truthfulness, utility.

Knows a table, what is declared of its columns and, where it is given, the original; no oracle, no adversary and no
audit. In reading order: `classes`, `diversity`, `closeness`, `secrets`, `discrimination`, `cells`, `loss`, `utility`;
`release_metrics` puts all numbers together, `measure` takes what a user gives.
"""
