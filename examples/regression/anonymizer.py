"""An anonymizer under development: suppresses everything but the decade of the age."""

import pandas as pd


def anonymize(people: pd.DataFrame) -> pd.DataFrame:
    decade = people["age"] // 10 * 10
    hidden = dict.fromkeys(("education", "marital_status", "hours_per_week", "region"), "*")
    return people.assign(age=[f"[{low}, {low + 9}]" for low in decade], **hidden)
