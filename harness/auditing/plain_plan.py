"""A plan as its journal has it, plain data without a record, and what persons, looks and levels follow from it.

`verify` derives with it what `select` decided with a Plan, by the same functions. What only the data could say, how
many different rows a person has and whether an encoding of one's own changes the table, is bounded instead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from harness.auditing.plan import ADAPTIVE, Claim, Pairs, PlanNumbers
from harness.measuring.divergence import Divergence, divergence_named
from harness.measuring.privacy_claim import PrivacyClaim
from harness.vocabulary.errors import InputError
from harness.vocabulary.oracle import Card

CLOSED_FORMS = ("harness.measuring.models.naive_bayes:", "harness.measuring.models.conditional:")
OF_SCIKIT_LEARN = "harness.measuring.models.classifier:"
OURS, BEFORE_F = "harness.measuring.encoding.", "harness.measuring.encoding.encoders:QuantilesBeforeEncoder"
FITTED = "harness.measuring.prior.interface:FittedPrior"


@dataclass(frozen=True)
class PlainPlan(PlanNumbers):
    """The numbers of a plan from a journal; `draws` are those of all looks where the plan fixes none."""

    claim: Claim
    draws: int | None
    seed: int
    records: Literal["all"] | int
    budget: int | None
    adaptive: bool
    randomized: bool
    pairs: Pairs
    confirm: int
    privacy: PrivacyClaim | None
    people: int
    names: tuple[str, ...]
    random_adversaries: tuple[bool, ...]
    values: tuple[int, ...]
    divergences: tuple[Divergence | None, ...]  # None: an object of the auditor's own, which is not in the journal
    questions: int  # tables that f is asked about

    @classmethod
    def of(
        cls, spec: Mapping[str, Any], *, draws: int, random_adversaries: Sequence[bool], questions: int = 1
    ) -> PlainPlan:
        """The plan of a journal; what it does not fix is given: draws of all looks, random adversaries, questions."""
        adaptive = spec["draws"] == ADAPTIVE
        return cls(
            claim=Claim(**spec["claim"]),
            draws=draws if adaptive else spec["draws"],
            adaptive=adaptive,
            privacy=None if spec["privacy"] is None else PrivacyClaim(**spec["privacy"]),
            people=spec["data"]["population"],
            names=tuple(one["spec"]["name"] for one in spec["adversaries"]),
            random_adversaries=tuple(random_adversaries),
            values=tuple(len(secret["values"]) for secret in spec["secrets"]),
            divergences=declared_divergences(spec),
            questions=questions,
            **{name: spec[name] for name in ("seed", "records", "budget", "randomized", "pairs", "confirm")},
        )

    @property
    def population(self) -> int:
        return self.people

    @property
    def declared_names(self) -> tuple[str, ...]:
        return self.names

    @property
    def draws_numbers(self) -> tuple[bool, ...]:
        return self.random_adversaries

    @property
    def number_of_values(self) -> tuple[int, ...]:
        return self.values

    def questions_asked(self, card: Card) -> int:
        return 1 if card.releases == "predictions" else self.questions

    def divergence_of(self, secret: int) -> Divergence:
        divergence = self.divergences[secret]
        if divergence is None:
            raise LookupError(f"the distance of secret {secret} is an object of the auditor's own")
        return divergence


def declared_divergences(spec: Mapping[str, Any]) -> tuple[Divergence | None, ...]:
    """The divergence of each secret, made again from its declaration; None where it was given as an object."""
    pairs = zip(spec["divergence"], spec["secrets"], strict=True)
    return tuple(declared_divergence(declared, secret) for declared, secret in pairs)


def declared_divergence(declared: Mapping[str, Any], secret: Mapping[str, Any]) -> Divergence | None:
    """The divergence that a plan names, made again from its declaration; None if it was given as an object."""
    if not str(declared["identity"].get("class", "")).startswith("harness."):
        return None
    try:
        divergence = divergence_named(declared["declared"]).for_values(tuple(secret["values"]))
    except InputError:  # the parameters of an object, which no name declares
        return None
    return divergence if divergence.spec() == declared["identity"]["spec"] else None


def draws_random_numbers(adversary: Mapping[str, Any]) -> bool | None:
    """Whether the model of an adversary does, by what a plan says of it; None: only its code could say."""
    model = adversary["spec"]["model"]
    is_known = str(model.get("class", "")).startswith(OF_SCIKIT_LEARN) and _is_seeded(model["spec"])
    return False if is_known or has_closed_form(adversary) else None


def has_closed_form(adversary: Mapping[str, Any]) -> bool:
    """Whether the model of an adversary is one of ours, which answers whatever the release."""
    return str(adversary["spec"]["model"].get("class", "")).startswith(CLOSED_FORMS)


def _is_seeded(spec: Any) -> bool:
    """Whether a specification consists of scikit-learn's own parts, each with a seed if it takes one."""
    if isinstance(spec, list):
        return all(map(_is_seeded, spec))
    if not isinstance(spec, Mapping):
        return True
    foreign = "unidentified" in spec or not str(spec.get("class", "sklearn.")).startswith("sklearn.")
    unset = any(str(name).endswith("random_state") and value is None for name, value in spec.items())
    return not foreign and not unset and all(map(_is_seeded, spec.values()))


def most_questions(spec: Mapping[str, Any]) -> int:
    """About how many tables f may be asked, at most: D itself, and one for each encoding that begins before f."""
    encoders = [one["spec"]["encoder"] for one in spec["adversaries"]]
    before = {str(each) for each in encoders if not _reads_releases_of_all(each)}
    return len(before) + any(map(_reads_releases_of_all, encoders))


def _reads_releases_of_all(encoder: Mapping[str, Any]) -> bool:
    kind = str(encoder.get("class", ""))
    return kind.startswith(OURS) and kind != BEFORE_F


def has_fitted_priors(spec: Mapping[str, Any]) -> bool:
    """Whether no prior can tell persons with equal rows apart."""
    return all(one["spec"]["prior"].get("class") == FITTED for one in spec["adversaries"])
