"""Models by what people write: a name, a table of name and parameters, or an object. Knows every model.

bernoulli, categorical, gaussian, conditional       in closed form
tree, logistic, neighbours, forest, mlp             scikit-learn's, with these names for short
sklearn:package.Class                               any classifier of scikit-learn's kind
package.module:name                                 a user's own model, classifier, or class of either
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Mapping
from typing import Any

from harness.measuring.models.classifier import Classifier
from harness.measuring.models.conditional import Conditional
from harness.measuring.models.interface import Model, name_with
from harness.measuring.models.naive_bayes import Bernoulli, Categorical, Gaussian
from harness.vocabulary.errors import InputError, did_you_mean
from harness.vocabulary.loading import attribute_of, constructed, is_importable_name, load_object

CLOSED_FORMS: dict[str, type] = {
    "bernoulli": Bernoulli,
    "categorical": Categorical,
    "gaussian": Gaussian,
    "conditional": Conditional,
}
# The tree's seed only breaks ties between equally good cuts. The MLP is that of Proportional Representation §IV-C:
# 5 and 2 units, ReLU, Adam at 1e-3, batches of 200, at most 500 epochs, 10 without progress.
ESTIMATORS: dict[str, tuple[str, dict[str, Any]]] = {
    "tree": ("sklearn.tree.DecisionTreeClassifier", {"random_state": 0}),
    "logistic": ("sklearn.linear_model.LogisticRegression", {}),
    "neighbours": ("sklearn.neighbors.KNeighborsClassifier", {}),
    "forest": ("sklearn.ensemble.RandomForestClassifier", {}),
    "mlp": ("sklearn.neural_network.MLPClassifier", {"hidden_layer_sizes": (5, 2), "max_iter": 500}),
}
FORMS = ("sklearn:package.Class", "package.module:name")
PREFIX = "sklearn:"


def model_named(declaration: str | Mapping[str, Any] | object) -> Model:
    """The model of a name, of a table {"name": …, parameter: …}, or the object itself."""
    if isinstance(declaration, str):
        return _model(declaration, {})
    if isinstance(declaration, Mapping):
        parameters = dict(declaration)
        name = parameters.pop("name", None)
        if not isinstance(name, str):
            raise InputError(f"a model is a name, or a table with a name and parameters; {declaration!r} has no name")
        return _model(name, parameters)
    return _as_model(declaration)


def _model(name: str, parameters: dict[str, Any]) -> Model:
    if name in CLOSED_FORMS:
        model: Model = constructed(CLOSED_FORMS[name], parameters, f"model {name}")
        return model
    if name in ESTIMATORS:
        path, usual = ESTIMATORS[name]
        return Classifier.of(_estimator(path, {**usual, **parameters}, f"model {name}"), name_with(name, **parameters))
    if name.startswith(PREFIX):
        return Classifier.of(_estimator(name.removeprefix(PREFIX), parameters, f"model {name!r}"))
    if is_importable_name(name):
        return _as_model(load_object(name, parameters))
    raise InputError(f"model {name!r} is not known; {did_you_mean(name, [*CLOSED_FORMS, *ESTIMATORS, *FORMS])}")


def _estimator(path: str, parameters: Mapping[str, Any], where: str) -> Any:
    module, _, attribute = path.rpartition(".")
    try:
        home = importlib.import_module(module)
    except (ImportError, ValueError) as error:
        raise InputError(
            f"{where} cannot be loaded: {error}; expected sklearn: and a dotted class name, "
            "such as sklearn:sklearn.tree.DecisionTreeClassifier"
        ) from None
    kind = attribute_of(home, attribute, where)
    if not inspect.isclass(kind):
        raise InputError(f"{where} is a {type(kind).__name__}; expected the dotted name of a class")
    return constructed(kind, parameters, where)


def _as_model(thing: object) -> Model:
    """A model as it is, a scikit-learn classifier as a model."""
    if isinstance(thing, Model) and not inspect.isclass(thing):
        return thing
    return Classifier.of(thing)
