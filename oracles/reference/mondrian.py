"""Mondrian as an oracle: k-anonymity, ℓ-diversity and t-closeness by strict median cuts."""

from __future__ import annotations

import threading
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, get_args
from weakref import WeakKeyDictionary

import numpy as np
import pandas as pd

from harness.dataset import Dataset, Schema
from harness.errors import InputError, did_you_mean
from harness.oracle import Ask, Card
from harness.table import Cells, Table
from oracles.reference.axes import Axes, Ground, Longs
from oracles.reference.cells import STYLES, Style, cell_keys, number_cells, text
from oracles.reference.cuts import Diversity, Nodes, Rule, is_allowed, partition
