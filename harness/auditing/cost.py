"""What an audit will cost, from its first questions and a few timed persons: calls, time and disk."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

from harness.auditing.asking import ask_oracle
from harness.auditing.call_count import calls_before_persons, calls_for_items
from harness.auditing.events import Examined, Look, OracleProfile, Probed, Selected
from harness.auditing.infer import Side, infer
from harness.auditing.options import USUALLY_KEPT, kept_bytes
from harness.auditing.plan import Plan
from harness.auditing.prediction_draws import size_of
from harness.auditing.prediction_file import record_bytes
from harness.auditing.procedure import Audit
from harness.auditing.select import distinct_rows, in_random_order, work_items
from harness.executors import Serial
from harness.vocabulary.oracle import Card, Oracle
from harness.vocabulary.release import Reader
from harness.vocabulary.sizes import written
from harness.vocabulary.table import Table

TIMED = 3  # persons examined to know the time of one
SAMPLE, SAMPLE_OF_RANDOM = 299, 367  # persons that certify 1 % of all; of a randomized f intervals take half the error
LONG = 600.0  # seconds, beyond which a sample is recommended


@dataclass(frozen=True)
class Cost:
    """Calls and seconds that an audit will take."""

    card: Card
    persons: int
    examined: int  # without those that are equal to another
    draws: int
    looks: int
    calls: int  # exactly as many for a plan with one look, at most as many otherwise
    seconds_per_person: float
    seconds: float
    adversaries: tuple[tuple[str, float], ...]  # seconds for one training and one prediction
    notes: tuple[str, ...]
    draws_bytes: int  # of the draws that measurements are made from, at most
    keep_predictions: int  # bytes of them that are kept beside the journal

    def __str__(self) -> str:
        kind = "randomized" if self.card.randomized else "deterministic"
        equal = f" ({self.examined} after equal ones)" if self.examined < self.persons else ""
        draws = f"{self.draws} {'draw' if self.draws == 1 else 'draws'} a side"
        most = f", at most, in up to {self.looks} looks (rounds of draws)" if self.looks > 1 else ""
        each = f"{self.seconds_per_person * 1000:.3g} ms a record, measured"
        lines = [
            f"oracle     {self.card.title}, {kind}, releases {self.card.releases}",
            f"records    {self.persons} to examine{equal}, {draws}{most}",
            f"calls      {self.calls} of the anonymizer",
            f"time       about {_in_words(self.seconds)} ({each})",
            *(f"adversary  {name}: {seconds * 1000:.3g} ms a release" for name, seconds in self.adversaries),
            *self._kept(),
            *self._recommended(),
            *(f"noticed    {note}" for note in self.notes),
        ]
        return "\n".join(lines)

    def _kept(self) -> list[str]:
        """How large predictions.bin becomes, where chance plays a part and there is anything to keep."""
        if not self.draws_bytes:
            return []
        size = f"disk       up to {written(self.draws_bytes)} of draws, from which harness verify proves every number"
        if self.draws_bytes <= self.keep_predictions:
            return [size]
        kept = f'keep_predictions = "{written(self.keep_predictions)}" may keep a part of them only'
        return [f"{size}; {kept}, and verify then exits with 4: raise it under [run]"]

    def _recommended(self) -> list[str]:
        sample = SAMPLE_OF_RANDOM if self.card.randomized else SAMPLE
        if self.seconds <= LONG or self.persons <= sample:
            return []
        shorter = _in_words(self.seconds * sample / self.examined)
        return [
            f"shorter    records = {sample} takes about {shorter}; it cannot say that the claim holds, but if none of "
            "these records breaks it, that at most 1 % of all do"
        ]


def estimate_cost(plan: Plan, oracle: Oracle, workers: int, keep_predictions: int = kept_bytes(USUALLY_KEPT)) -> Cost:
    """The cost of the whole audit; asks the first questions of the audit and examines a few persons."""
    profile, selected, each = _time_persons(plan, oracle)
    drawn = sum(look.draws for look in selected.looks) / selected.looks[0].draws
    return Cost(
        card=profile.card,
        persons=len(selected.persons),
        examined=len(selected.examined),
        draws=sum(look.draws for look in selected.looks),
        looks=len(selected.looks),
        calls=predicted_calls(plan, profile, selected),
        seconds_per_person=each * drawn,
        seconds=each * drawn * len(selected.examined) / workers,
        adversaries=_time_adversaries(plan, oracle, profile),
        notes=profile.notes,
        draws_bytes=bytes_of_draws(plan, profile, selected),
        keep_predictions=keep_predictions,
    )


def bytes_of_draws(plan: Plan, profile: OracleProfile, selected: Selected) -> int:
    """What predictions.bin takes at most: both sides of every measurement in which chance plays a part."""
    adversaries = range(len(plan.adversary_names(profile.card)))
    random = sum(not plan.is_exact(profile.card, adversary) for adversary in adversaries)
    rows = sum(len(distinct_rows(plan, person)) for person in selected.examined)
    sizes = (size_of(look.draws, secret.values) for look in selected.looks for secret in plan.secrets)
    return random * rows * sum(map(record_bytes, sizes))


def predicted_calls(plan: Plan, profile: OracleProfile, selected: Selected) -> int:
    """How often f is called by an audit that is not interrupted and in which every person needs every look."""
    items = work_items(plan, profile, in_random_order(plan, selected.examined))
    rows = [[len(distinct_rows(plan, person)) for person in item] for item in items]
    # At further looks those who share predictions of f(D) need not go on together.
    apart = rows if profile.in_blocks else [[each] for item in rows for each in item]
    first, further = selected.looks[:1], selected.looks[1:]
    by_look = calls_for_items(plan, profile, first, rows) + calls_for_items(plan, profile, further, apart)
    most = calls_before_persons(plan, profile, selected.looks) + by_look
    if plan.budget is None:
        return most
    grows = plan.adaptive and len(selected.persons) < plan.data.population  # what is left buys further persons
    return plan.budget if grows else min(most, plan.budget)


def _time_persons(plan: Plan, oracle: Oracle) -> tuple[OracleProfile, Selected, float]:
    """The beginning of the audit, up to a few persons; the first one reads f(D), which the others share."""
    profile = selected = None
    moments: list[float] = []
    events = Audit(plan, oracle, Serial()).events()
    for event in events:
        match event:
            case Probed():
                profile = event.profile
            case Selected():
                selected = event
            case Examined():
                moments.append(time.perf_counter())
        if selected is not None and len(moments) == min(TIMED + 1, len(selected.examined)):
            break
    events.close()
    assert profile is not None, "an audit probes first"
    assert selected is not None, "an audit selects persons before it examines them"
    return profile, selected, (moments[-1] - moments[0]) / max(len(moments) - 1, 1)


def _time_adversaries(plan: Plan, oracle: Oracle, profile: OracleProfile) -> tuple[tuple[str, float], ...]:
    """How long each adversary takes for one release, where there are several to choose from."""
    if profile.card.releases == "predictions" or len(plan.adversaries) == 1:
        return ()
    times: dict[int, float] = {}
    side = Side(Look(1, 1, 1.0, 1.0), "both", f_is_random=False)
    for question in plan.questions:
        ask = replace(plan.ask_present(profile.card, question, "timing", 1), draws=1)
        (table,) = ask_oracle(oracle, ask, "f(D)")
        assert isinstance(table, Table)
        release, target = Reader(question.data).read(table), question.data.record(0)
        for adversary in question.adversaries:
            start = time.perf_counter()
            infer(plan, [adversary], [release], [target], side)
            times[adversary] = time.perf_counter() - start
    return tuple((plan.adversaries[number].name, times[number]) for number in sorted(times))


def _in_words(seconds: float) -> str:
    for size, unit in ((86400, "days"), (3600, "hours"), (60, "minutes")):
        if seconds >= 2 * size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.1f} seconds"
