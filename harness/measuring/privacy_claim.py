"""Claims of differential privacy in the terms they are made in, each as the (ε, δ) that it implies; knows no draws."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from harness.vocabulary.errors import InputError, did_you_mean


def epsilon_of_zcdp(rho: float, delta: float) -> float:
    """ρ-zCDP implies (ρ + 2 √(ρ ln(1/δ)), δ)-differential privacy (Bun & Steinke 2016, Proposition 1.3)."""
    _check_delta(delta)
    return rho + 2 * math.sqrt(rho * math.log(1 / delta))


def epsilon_of_renyi(order: float, epsilon: float, delta: float) -> float:
    """Rényi privacy of this order > 1 implies (ε + ln(1/δ)/(order − 1), δ)-DP (Mironov 2017, Proposition 3)."""
    _check_delta(delta)
    if not order > 1:
        raise InputError(f"Rényi differential privacy has an order above 1; got {order}")
    return epsilon + math.log(1 / delta) / (order - 1)


@dataclass(frozen=True)
class PrivacyClaim:
    """Differential privacy that somebody claims, as an (ε, δ), and in the words of the claim."""

    epsilon: float
    delta: float
    words: str

    @classmethod
    def of(cls, declared: Mapping[str, float]) -> PrivacyClaim:
        """A claim of (epsilon, delta), of zCDP (rho) or of Rényi privacy (order and epsilon), translated at a delta."""
        known = ("epsilon", "delta", "rho", "order")
        for name, number in declared.items():
            if name not in known:
                raise InputError(f"privacy: unknown key {name!r}; {did_you_mean(name, known)}")
            if isinstance(number, bool) or not isinstance(number, int | float) or not 0 <= number < math.inf:
                raise InputError(f"privacy: {name} must be a number of at least 0, not {number!r}")
        keys, delta = set(declared) - {"delta"}, float(declared.get("delta", 0.0))
        if keys == {"rho"}:
            rho = float(declared["rho"])
            return cls(epsilon_of_zcdp(rho, delta), delta, f"zero-concentrated differential privacy with rho = {rho:g}")
        if keys == {"order", "epsilon"}:
            order, epsilon = float(declared["order"]), float(declared["epsilon"])
            words = f"Rényi differential privacy of order {order:g} with epsilon = {epsilon:g}"
            return cls(epsilon_of_renyi(order, epsilon, delta), delta, words)
        if keys != {"epsilon"} or not declared["epsilon"] > 0 or not delta < 1:
            raise InputError(
                "privacy must have an epsilon above 0 (and a delta below 1), or rho and delta, or order, epsilon and "
                "delta"
            )
        return cls(float(declared["epsilon"]), delta, "")


def _check_delta(delta: float) -> None:
    if not 0 < delta < 1:
        raise InputError(f"a claim in other terms implies an ε for a δ between 0 and 1; got {delta}")
