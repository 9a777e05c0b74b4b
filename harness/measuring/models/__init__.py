"""Inference algorithms: an encoded release in, a probability of each sensitive value out.

`interface` says what a model is; `naive_bayes` and `conditional` are computed in closed form, `classifier` is any
classifier of scikit-learn's kind, and `names` finds a model by what people write.
"""

from harness.measuring.models.classifier import Classifier
from harness.measuring.models.conditional import Conditional
from harness.measuring.models.interface import (
    Fitted,
    Model,
    PredictionError,
    frequencies,
    require_distribution,
)
from harness.measuring.models.naive_bayes import Bernoulli, Categorical, Gaussian
from harness.measuring.models.names import model_named

__all__ = [
    "Bernoulli",
    "Categorical",
    "Classifier",
    "Conditional",
    "Fitted",
    "Gaussian",
    "Model",
    "PredictionError",
    "frequencies",
    "model_named",
    "require_distribution",
]
