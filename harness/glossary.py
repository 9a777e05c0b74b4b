"""The words of reports, messages and manual, explained. `harness explain TERM` and the glossary page print these texts.

Knows nothing of the package: words only.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Term:
    """A word, other spellings of it, and what it means in a few sentences."""

    name: str
    text: str
    aliases: tuple[str, ...] = ()
    see: str = ""  # a page of the manual with more, as a path below docs/

    @property
    def slug(self) -> str:
        """The name as one word: for shell completion and links."""
        return re.sub(r"[^a-z0-9_]+", "-", self.name.lower()).strip("-")


TERMS: tuple[Term, ...] = (
    Term(
        "adaptive",
        "With `adaptive = true` a person is drawn in several looks, and no longer than she needs: whoever is settled "
        "early costs few draws. The verdict has the same confidence as with a fixed number of draws.",
        see="statistics.md",
    ),
    Term(
        "adversary",
        "Somebody who reads the release, knows the quasi-identifiers of a person, and predicts her sensitive value. "
        "Here it is an encoding (how the release becomes numbers), a model (what is trained on them) and a prior (what "
        "is believed beforehand). A verdict is about the adversaries that were tried; another one may infer more.",
        see="how-to/adversaries.md",
    ),
    Term(
        "anonymizer",
        "The function under test, called f: a table goes in, a release comes out. The harness never sees its code; it "
        "only asks for releases.",
        aliases=("f",),
    ),
    Term(
        "assumed",
        "The part of a report that lists what its verdict rests on and cannot prove: the adversary that was tried, the "
        "distance, that every row is one person, that the anonymizer did not recognise the audit.",
        aliases=("assumptions",),
        see="explanation/limits.md",
    ),
    Term(
        "at least / at most",
        "The two ends of what is known about the largest distance of anybody. `at least` is proven: some person moves "
        "the inference by no less. `at most` holds with the confidence of the claim: nobody moves it by more. For a "
        "deterministic anonymizer both are the same number.",
        aliases=("at least", "at most", "lower", "upper", "limit", "limits", "interval"),
        see="statistics.md",
    ),
    Term(
        "attestation",
        "The file attestation.json, written by `harness sign`: a signed statement that names journal, plan and reports "
        "by their digests and says PASSED, WARNED or FAILED (in-toto, test-result predicate, in a DSSE envelope). "
        "`harness verify DIR --key PUBLIC.pem` checks it.",
        aliases=("signature", "sign"),
        see="how-to/evidence.md",
    ),
    Term(
        "raw and suppressed baselines",
        "What the same adversaries find without any anonymizer, to compare with: under a release of the data as it is, "
        "and under one with all quasi-identifiers suppressed. An anonymizer can be worse than the data as it is: "
        "leaving one person out may change the groups of many others. Computed for some of the examined persons; no "
        "verdict rests on it.",
        aliases=("baselines", "identity release"),
        see="how-to/read-a-report.md",
    ),
    Term(
        "baseline",
        "What an audit found, kept in a file of the vendor's repository. `harness baseline compare` fails where a "
        "later audit is worse by more than chance and the finding is not accepted. Persons are keyed digests; no raw "
        "row is in it.",
        see="how-to/ci.md",
    ),
    Term(
        "blind",
        "A blind audit sends the data without a person as just another table, so that the anonymizer is not told who "
        "is missing. It is the default over a network. Otherwise the data is sent once and rows are left out by "
        "number, which is faster; the report says which of the two was done.",
        see="explanation/threat-model.md",
    ),
    Term(
        "budget",
        "How many calls of the anonymizer an audit may spend. Half of them go to persons chosen at random, half to "
        "those whom f(D) shows to be at the greatest risk.",
    ),
    Term(
        "card",
        "What an oracle says about itself: name, version, whether it is randomized, whether it honours seeds, what it "
        "releases, and the differential privacy it claims. The first questions of an audit check it.",
    ),
    Term(
        "cell (of a sweep)",
        "One audit of a sweep: one value of every key that varies. Each has a folder of its own with journal "
        "and report, and is the audit that it would be alone.",
        see="how-to/sweeps.md",
        aliases=("cell",),
    ),
    Term(
        "certificate",
        "What a random part of the persons says about all of them: with the confidence of the claim, no more than this "
        "share of all persons reaches epsilon. If none of 299 persons drawn at random does, fewer than 1 % of all do, "
        "with 95 % confidence. A certificate never says that nobody does.",
        aliases=("share",),
        see="statistics.md",
    ),
    Term(
        "claim",
        "What the audit tests: nobody's own record moves the inference about that person by epsilon or more. With "
        "delta above 0: except with probability delta.",
    ),
    Term(
        "class size",
        "How many rows of f(D) cover everything that an adversary knows about a person. A person in a small class is "
        "hidden among few. The report draws distances against it.",
        aliases=("class sizes",),
        see="how-to/read-a-report.md",
    ),
    Term(
        "confidence",
        "How often verdicts like this one are right: with 0.95, at most one audit in twenty would accuse although "
        "nobody reaches epsilon, and at most one in twenty would say HOLDS although somebody does. Where nothing is "
        "random the distances are exact.",
        aliases=("confidence level",),
    ),
    Term(
        "confirm",
        "Before the verdict on a deterministic anonymizer some questions are asked a second time, those about the "
        "witnesses first. One answer that differs makes the verdict INCONCLUSIVE.",
    ),
    Term(
        "coupled",
        "Both sides of a comparison, with and without the person, were drawn with the same seeds. Their noise is then "
        "the same and nearly cancels, so that far fewer draws are needed. It works with oracles that honour seeds.",
        aliases=("coupled draws", "pairs"),
        see="statistics.md",
    ),
    Term(
        "decision rule",
        "When an audit says HOLDS, VIOLATED or INCONCLUSIVE, with two risks. False acceptance: HOLDS is said although "
        "somebody breaks the claim. False rejection: VIOLATED is said although everybody keeps it. Both are on the "
        "test report, as probabilities that hold for this plan.",
        aliases=("false acceptance", "false rejection", "risk"),
        see="how-to/evidence.md",
    ),
    Term(
        "delta",
        "In a claim: the probability with which a draw may still move the inference by epsilon or more. 0 is the "
        "default and judges the distance itself. It is not the delta of differential privacy, which is called "
        "noise_delta here.",
        aliases=("δ",),
    ),
    Term(
        "deterministic",
        "Equal questions get equal answers. The distances of a deterministic anonymizer are exact, and one draw of "
        "each release is enough. Equal answers to a few questions do not prove it; the report says how many were "
        "compared.",
    ),
    Term(
        "differential privacy",
        "A property of the noise of an anonymizer, with parameters called noise_epsilon and noise_delta here. Where a "
        "card or a plan claims it, the claim is tested on the same draws.",
        aliases=("privacy", "dp"),
        see="explanation/science.md",
    ),
    Term(
        "distance",
        "How far two predictions of the sensitive value are apart: the one from the release with the person in the "
        "data, and the one without her. The default, `sum`, adds up the changes of all probabilities: 0 if nothing "
        "changed, 2 if the adversary was certain of one value and is then certain of another. Half of it is the "
        "probability that moved.",
        aliases=("sum",),
        see="explanation/what-0.1-means.md",
    ),
    Term(
        "discrimination rate",
        "How much of the uncertainty about the sensitive column the quasi-identifiers of a release take away, from 0 "
        "(nothing) to 1 (everything): 1 - H(X|Y)/H(X). Of one value: 1 - P(y) H(X|Y=y)/H(X).",
        see="explanation/metrics.md",
    ),
    Term(
        "draw",
        "One run of a randomized anonymizer on one table. 500 draws of each side are the default; more draws make the "
        "limits narrower.",
        aliases=("draws", "draws a side"),
    ),
    Term(
        "drift",
        "An anonymizer whose answers change with time. Where f is not deterministic and has no seeds, draws from the "
        "beginning and the end of the audit are compared; if they differ, the verdict is INCONCLUSIVE.",
    ),
    Term(
        "encoding",
        "How a release becomes the numbers a model is trained on. The default, `tf-tf`, asks of each cell whether it "
        "covers the value of the person in question: yes or no.",
        aliases=("encoder", "tf-tf"),
        see="how-to/adversaries.md",
    ),
    Term(
        "epsilon",
        "In a claim: the distance that nobody may reach, on a scale from 0 to 2 with the default distance. 0.1 means "
        "that less than 5 percentage points of probability move from some values to others. It is not the epsilon of "
        "differential privacy, which is called noise_epsilon here.",
        aliases=("ε",),
        see="explanation/what-0.1-means.md",
    ),
    Term(
        "equivalence class",
        "The rows of a release that show the same quasi-identifiers, as printed. Metrics such as k, l and t are "
        "those of the worst class.",
        aliases=("class", "classes"),
        see="explanation/metrics.md",
    ),
    Term(
        "exact",
        "Nothing random was involved, so the distance has no margin of error: `at least` and `at most` are equal.",
    ),
    Term(
        "exit code",
        "What the command returns: 0 the claim holds (or the command did what it should), 1 it is violated, 2 "
        "something you gave is wrong, 3 the oracle failed, 4 inconclusive, 74 the disk takes no more, 129, 130 or 143 "
        "interrupted, 70 a "
        "defect of the harness. `harness verify` and `harness demo` return 0 whatever the verdict is.",
        aliases=("exit codes", "exit status"),
        see="reference/commands.md",
    ),
    Term(
        "f(D)",
        "A release of all the data D. The release of the data without person i is written f(D⁻ⁱ).",
        aliases=("D",),
    ),
    Term(
        "finding",
        "What was measured about one person, for one adversary and one sensitive column: the distance, its limits and "
        "both predictions.",
        aliases=("findings",),
    ),
    Term(
        "head of the journal",
        "The hash in the last line of journal.jsonl. It depends on every line before, so that whoever keeps it can "
        "tell later whether the journal is still the same: `harness verify DIR --head HASH`. A run prints it at "
        "its end.",
        aliases=("head", "journal head"),
        see="how-to/evidence.md",
    ),
    Term(
        "hierarchy",
        "A tree of ever coarser names for the values of a column, for instance Paris, France, Europe, *. It tells the "
        "harness which raw values a released name covers.",
        see="how-to/hierarchies-and-notations.md",
    ),
    Term(
        "HOLDS",
        "Everybody was examined and everybody stays below epsilon: exactly where nothing is random, else with the "
        "confidence of the claim. It is about these data, these adversaries and this distance. It does not say that "
        "the release tells nothing about people, only that a person's own record changes little of it.",
        see="explanation/what-0.1-means.md",
    ),
    Term(
        "INCONCLUSIVE",
        "Neither proven nor disproven. The reason says why: only a part of the persons was examined, too few draws "
        "(and how many would do), or answers that prove nothing, such as an anonymizer that drifts.",
        see="explanation/what-0.1-means.md",
    ),
    Term(
        "journal",
        "The file journal.jsonl: every measurement of an audit, in order, each line bound to the one before by a hash. "
        "An interrupted audit continues from it, and `harness verify` recomputes the report from it.",
    ),
    Term(
        "k-anonymity",
        "A property of a release: every combination of quasi-identifiers in it is shared by at least k rows. It does "
        "not limit what the sensitive values of such a group tell.",
        see="explanation/what-0.1-means.md",
    ),
    Term(
        "l-diversity",
        "A property of a release: every group of rows with equal quasi-identifiers has at least ℓ different sensitive "
        "values.",
        aliases=("ℓ-diversity",),
        see="explanation/what-0.1-means.md",
    ),
    Term(
        "look",
        "One round of draws about a person, as in a clinical trial that is evaluated several times. A fixed plan has "
        "one look; an adaptive audit adds looks until a person is settled. All limits account for the number of looks.",
        aliases=("looks",),
        see="statistics.md",
    ),
    Term(
        "lost leaves",
        "How much a release generalised: for each cell (leaves - 1)/(all leaves - 1) in the hierarchy of its column, "
        "summed over rows and columns. 0 for the data itself.",
        aliases=("NLLM", "lost_leaves"),
        see="explanation/metrics.md",
    ),
    Term(
        "membership inference",
        "Telling from a release whether a person's own rows are in the data. The report scores everybody "
        "twice by the adversary's confidence in the true value, as a member and as a non-member, and says how "
        "well one threshold tells the two (AUC, true positives at few false positives).",
        see="explanation/membership.md",
        aliases=("membership", "AUC"),
    ),
    Term(
        "model",
        "What the adversary trains on a release to predict the sensitive value. The default, `bernoulli`, is naive "
        "Bayes: it counts how often each sensitive value occurs together with each known quasi-identifier, and "
        "multiplies. An adversary is named model, then encoding: `bernoulli on tf-tf`.",
        aliases=("bernoulli",),
        see="how-to/adversaries.md",
    ),
    Term(
        "most likely value",
        "The sensitive value to which the adversary gives the largest probability; of several equal ones the first in "
        "the order of the values. A report counts the persons for whom it is another value without their record.",
        aliases=("changed predictions",),
    ),
    Term(
        "noise floor",
        "The distance that random noise would show if the person had no influence at all. A mean near the floor tells "
        "nothing; judge a randomized anonymizer by `at least` and `at most`.",
        aliases=("floor", "sampling noise"),
        see="statistics.md",
    ),
    Term(
        "noise_epsilon",
        "The parameter of differentially private noise: the smaller, the more noise. With noise_delta it is what "
        "others call epsilon and delta of differential privacy.",
        aliases=("noise_delta",),
    ),
    Term(
        "not measured",
        "A record without which the anonymizer did not answer: it raised an error, released nonsense, took too long "
        "or ended its process, while it answered about others or about f(D). Such a record proves nothing, so that the "
        "claim cannot be said to hold. `harness run --retry-failed` asks again.",
        aliases=("failed record", "could not be measured"),
        see="how-to/long-audits.md",
    ),
    Term(
        "noticed",
        "The part of a report that lists what was odd about the oracle and its releases.",
        aliases=("notes",),
    ),
    Term(
        "oracle",
        "Whatever answers the questions of an audit: a Python function, a program, a server. It is given by an address "
        "such as `python:module:function`, `cmd:program` or `https://host`.",
        see="reference/oracles.md",
    ),
    Term(
        "panel",
        "Several adversaries in one audit. Each has its own verdict; that of the audit is the worst and names its "
        "adversary. They share the releases, so the anonymizer is asked no more often.",
        see="how-to/adversaries.md",
    ),
    Term(
        "patience",
        'How long the oracle may be away or busy before an audit stops, such as `patience = "10m"`; it begins with the '
        "first question that does not reach it and ends with the next answer.",
        see="how-to/long-audits.md",
    ),
    Term(
        "person",
        "Who is left out: one row, or with `person = \"column\"` all rows with the same value in that column. A report "
        "that speaks of records has one row for each person.",
        aliases=("record", "row"),
    ),
    Term(
        "placebo",
        "How often two draws of f(D) itself are epsilon or more apart. If that is as frequent as with and without a "
        "person, the difference is noise and not her doing.",
        see="statistics.md",
    ),
    Term(
        "present and absent",
        "Present: with the person's rows in the data. Absent: without them. In tables also `with` and `without`.",
        aliases=("present", "absent", "with", "without"),
    ),
    Term(
        "prior",
        "What the adversary believes about the sensitive value before reading the release.",
        see="how-to/adversaries.md",
    ),
    Term(
        "privacy loss",
        "A proven lower limit of the noise_epsilon that a randomized anonymizer has at least. If it lies above the "
        "claimed one, the claim of differential privacy is refuted.",
        see="statistics.md",
    ),
    Term(
        "proportional",
        "A table whose cells also say how the original values of their class are shared out, such as "
        "`mammals {\"cat\": 1/3, \"lion\": 2/3}`. It discloses more than the plain table; an adversary with the "
        "encoder proportional reads it, and the report shows how much more.",
        aliases=("shares", "proportional table"),
        see="how-to/measure-a-release.md",
    ),
    Term(
        "quasi-identifier",
        "A column whose values the adversary knows of everybody, such as age or postcode. You declare them in "
        "`[data.quasi]`.",
        aliases=("quasi", "quasi-identifiers"),
    ),
    Term(
        "release",
        "What an anonymizer gives out: a table with the declared columns, whose cells may be generalised ([20, 30), "
        "2*, names of a hierarchy) or suppressed (*).",
    ),
    Term(
        "reveal",
        "With `--reveal`, files and pages show raw records, what was inferred about each person, and texts that the "
        "vendor chose. Without it they do not: the two predictions about a person tell her sensitive value.",
        aliases=("--reveal", "confidential"),
        see="how-to/evidence.md",
    ),
    Term(
        "repair",
        "Taking the people who break a claim out of the data and testing everything again (`harness prune`). "
        "It need not help: f treats the others differently then.",
        see="how-to/prune.md",
        aliases=("prune",),
    ),
    Term(
        "seed",
        "A number from which all randomness of a draw follows. Equal questions with equal seeds must get equal "
        "answers. The seed of the plan makes a whole audit repeatable.",
        aliases=("seeds", "seedable"),
    ),
    Term(
        "sensitive",
        "The column that an adversary wants to know, such as a disease. A report calls it the secret.",
        aliases=("secret", "secrets"),
    ),
    Term(
        "test report",
        "The file certificate.json: everything that ISO/IEC 17025 asks of a test report with a statement of "
        "conformity. It names no person. The certificate of a sample is something else: a share of persons.",
        aliases=("certificate.json",),
        see="how-to/evidence.md",
    ),
    Term(
        "sweep",
        "An audit repeated for every value of some keys, such as k = 2, 5, 10: a table, figures and JSON with "
        "one row per cell (`harness sweep`).",
        see="how-to/sweeps.md",
    ),
    Term(
        "t-closeness",
        "A property of a release: in every class the sensitive values are shared out as in the whole table, up to a "
        "distance of t.",
        see="explanation/metrics.md",
    ),
    Term(
        "untrue cells",
        "Cells of a release that do not cover the value of their own row, such as [20, 30] for an age of 35.",
        aliases=("outside",),
        see="explanation/metrics.md",
    ),
    Term(
        "VIOLATED",
        "Some person is proven to reach epsilon: her own record moves the inference about her by at least that much. "
        "She is named as the witness.",
        see="explanation/what-0.1-means.md",
    ),
    Term(
        "verdict",
        "The answer of an audit: HOLDS, VIOLATED or INCONCLUSIVE, with the person that decides it and the reason.",
        aliases=("outcome",),
    ),
    Term(
        "witness",
        "The person a verdict rests on: of a violated claim the one who breaks it most, else the one with the largest "
        "distance.",
    ),
)  # fmt: skip


def find_term(words: str) -> Term | None:
    """The term of this name, in any spelling that it has."""
    wanted = words.casefold().replace("-", " ").replace("_", " ").strip()
    for term in TERMS:
        names = (term.name, term.slug, *term.aliases)
        if wanted in (name.casefold().replace("-", " ").replace("_", " ") for name in names):
            return term
    return None
