"""What the papers print, each with its place; figures whose curves the texts do not quote have no numbers here."""

from __future__ import annotations

# v1 §3.4.2, Tables 1 to 4: the largest distance, by k or ℓ.
LARGEST = {
    ("adult", "k-anonymity"): {1: 0.32, 2: 0.197, 5: 0.137, 7: 0.126, 20: 0.178, 64: 0.234, 80: 0.235},
    ("adult", "l-diversity"): {1: 0.32, 2: 0.21, 3: 0.213, 4: 0.04, 5: 0.028, 6: 0.0018, 7: 9.8e-5},
    ("internet-v1", "k-anonymity"): {1: 0.2, 2: 0.257, 5: 0.305, 7: 0.398, 20: 0.512, 64: 0.459, 80: 0.424},
    ("internet-v1", "l-diversity"): {1: 0.2, 2: 0.15, 3: 0.43, 4: 0.17, 5: 9.6e-5, 6: 9.6e-5, 7: 9.6e-5},
}
TABLES = {
    ("adult", "k-anonymity"): "v1 Table 1",
    ("adult", "l-diversity"): "v1 Table 2",
    ("internet-v1", "k-anonymity"): "v1 Table 3",
    ("internet-v1", "l-diversity"): "v1 Table 4",
}
# v1 §3.4.2: the share of persons beyond 10^-2.5 at k = 5 and ℓ = 5.
SHARES = {
    ("adult", "k-anonymity"): 0.54,
    ("adult", "l-diversity"): 0.03,
    ("internet-v1", "k-anonymity"): 0.35,
    ("internet-v1", "l-diversity"): 0.0,
}
# v2 §4.5.1: the largest distance of Adult after the outliers are removed.
REPAIRED = {"l=2": 0.165, "l=3": 0.092}
# v2 Table 3: records and distinct records.
RECORDS = {"adult": (10_000, 7_960), "internet": (9_799, 7_049)}
# v2 Table 4: minutes for one value of a parameter.
MINUTES = {
    ("adult", "k-anonymity"): 60.4, ("adult", "l-diversity"): 76.1, ("adult-noise", "differential privacy"): 341.9,
    ("internet-v2", "k-anonymity"): 47.5, ("internet-v2", "l-diversity"): 50.2,
    ("internet-noise", "differential privacy"): 263.4,
}  # fmt: skip
# v1 appendix A.2: accuracy, number of features, and minutes for as many models as records, where the text says them.
ENCODINGS: dict[tuple[str, str], tuple[float | None, int | None, float | None]] = {
    ("adult", "e14"): (None, 5, None), ("adult", "e44"): (0.228, 5, 28.67), ("adult", "e64"): (0.228, 5, 30.17),
    ("adult", "e24"): (None, 7, None), ("adult", "e21"): (None, None, 52.19), ("adult", "e33"): (None, 131, 84.34),
    ("internet", "e14"): (None, 6, None), ("internet", "e44"): (0.2417, 6, 28.64),
    ("internet", "e64"): (0.253, 6, 29.37), ("internet", "e24"): (None, 7, None),
    ("internet", "e12"): (None, None, 65.53), ("internet", "e33"): (None, 322, 112.26),
}  # fmt: skip
# Which figures show what is measured here.
FIGURES = {
    "adult": "v1 Figures 3 (different predictions), 5 (cumulative), 7 (mean); v2 Figures 1 (largest), 2 (cumulative)",
    "internet-v1": "v1 Figures 4 (different predictions), 6 (cumulative), 7 (mean)",
    "internet-v2": "v2 Figures 3 (largest) and 4 (cumulative)",
    "adult-noise": "v2 Figure 5 (cumulative and largest)",
    "internet-noise": "v2 Figure 6 (cumulative and largest)",
}
