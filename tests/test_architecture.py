"""Who may import whom, and what the public names are."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

# A harness file imports only files above it; the files of one package named here are free among themselves.
ORDER = [
    "vocabulary.errors", "vocabulary.error_codes", "vocabulary.durations", "vocabulary.sizes",
    "vocabulary.plain_numbers", "vocabulary.origin", "vocabulary.secret",
    "vocabulary.persons", "vocabulary.loading", "vocabulary.files", "vocabulary.private_files", "vocabulary.values",
    "vocabulary.hierarchy", "vocabulary.table", "vocabulary.schema", "vocabulary.source", "vocabulary.dataset",
    "vocabulary.lexicon", "vocabulary.release", "vocabulary.oracle", "vocabulary.answers",
    "measuring.special", "measuring.specification", "measuring.samples", "measuring.betting", "measuring.bounds",
    "measuring.divergence",
    "measuring.estimate", "measuring.tail", "measuring.certificate", "measuring.exact_ratio", "measuring.privacy_loss",
    "measuring.privacy_claim", "measuring.independence",
    "measuring.features", "measuring.membership",
    "measuring.encoding", "measuring.encode_release", "measuring.release_encoder",
    "measuring.models", "measuring.prior", "measuring.adversary", "measuring.one_thread",
    "measuring.metrics",
    "auditing.options", "auditing.statements", "auditing.vacuous",
    "auditing.plan", "auditing.plain_plan", "auditing.event_types",
    "auditing.config", "auditing.card_changes", "auditing.reference_events", "auditing.measurement",
    "auditing.events", "auditing.failures",
    "auditing.proofs", "auditing.finding", "auditing.columns", "auditing.finding_store", "auditing.reported_findings",
    "auditing.grid",
    "executors",
    "auditing.asking", "auditing.probe", "auditing.confirm", "auditing.call_count", "auditing.infer",
    "auditing.measure", "auditing.prediction_draws", "auditing.item_result",
    "auditing.select", "auditing.budget", "auditing.baselines", "auditing.class_sizes",
    "auditing.block", "auditing.examine", "auditing.oracle_identity",
    "auditing.shard", "auditing.state", "auditing.state_columns", "auditing.not_measured", "auditing.race",
    "auditing.keyed_digests",
    "auditing.plain_differences", "auditing.what_differs", "auditing.compact_entries",
    "auditing.journal", "auditing.read_journal", "auditing.draw_store", "auditing.prediction_file",
    "auditing.folder", "auditing.salvage", "auditing.merge", "auditing.shard_progress",
    "auditing.present_draws", "auditing.repeat", "auditing.derived_selection", "auditing.replay",
    "auditing.procedure", "auditing.cost",
    "auditing.reasons", "auditing.verdict", "auditing.references", "auditing.plain_beside_proportional",
    "auditing.report_sentences",
    "auditing.confidential", "auditing.statistics_of_findings", "auditing.list_findings", "auditing.findings_file",
    "auditing.compile_report",
    "auditing.derived_from_draws", "auditing.derived_from_predictions", "auditing.derived_numbers", "auditing.verify",
    "auditing.decision", "auditing.detectable", "auditing.certificate_words", "auditing.compile_certificate",
    "auditing.journal_facts", "auditing.verify_certificate", "signing",
    "initializing.describe_column", "initializing.known_orders", "initializing.guess_kind", "initializing.guess_roles",
    "initializing.learn_hierarchy", "initializing.fit_release", "initializing.write_toml",
    "glossary", "render", "report", "progress", "github_job", "analysis", "synthetic_census", "api", "experiments",
    "demo", "testing", "strategies", "cli", "pytest_plugin",
]  # fmt: skip
VOCABULARY = set(ORDER[: ORDER.index("vocabulary.answers") + 1])
KNOW_THE_ORACLES = {"api", "experiments", "demo", "testing", "cli", "pytest_plugin"}

PUBLIC = {
    "Adversary", "Ask", "Audit", "Card", "Claim", "Column", "Dataset", "Finding", "HarnessError", "Hierarchy",
    "InputError", "JournalError", "Oracle", "OracleError", "Outcome", "Plan", "Predictions", "Record", "ReleaseEncoder",
    "ReleaseError", "Report", "Schema", "Table", "Verdict", "audit", "discrimination_rate", "distance", "encode",
    "judge", "metrics",
}  # fmt: skip


def sources(package: str) -> list[Path]:
    return sorted(path for path in (ROOT / package).rglob("*.py") if "_pb" not in path.parts)


def imports(path: Path) -> set[str]:
    """The modules of this project that a file imports anywhere in it."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative imports hide where a name comes from"
            names |= {node.module or ""} | {f"{node.module}.{alias.name}" for alias in node.names}
    return {name for name in names if name.split(".")[0] in ("harness", "oracles")}


def place_of(path: Path) -> str:
    return _place(path.relative_to(ROOT / "harness").with_suffix("").parts)


def places_of(names: set[str]) -> set[str]:
    return {_place(tuple(name.split(".")[1:])) for name in names if name.startswith("harness.")} & set(ORDER)


def _place(parts: tuple[str, ...]) -> str:
    """The entry of ORDER that a module belongs to: a file, or a package whose files order themselves."""
    return next((known for known in (parts[0], ".".join(parts[:2])) if known in ORDER), ".".join(parts[:2]))


def test_every_module_of_the_harness_has_its_place_in_the_order() -> None:
    packages = {"__init__", *(f"{name}.__init__" for name in ("vocabulary", "measuring", "auditing", "initializing"))}
    assert {place_of(path) for path in sources("harness")} - packages == set(ORDER)


@pytest.mark.parametrize("path", sources("harness"), ids=lambda path: str(path.relative_to(ROOT)))
def test_a_harness_file_imports_only_files_above_it(path: Path) -> None:
    if path.name == "__init__.py" and place_of(path) not in ORDER:
        return  # the package's own resolves names lazily; the next test looks at what it loads
    mine = place_of(path)
    allowed = set(ORDER[: ORDER.index(mine) + 1]) if mine in ORDER else set()
    assert places_of(imports(path)) <= allowed
    if mine not in KNOW_THE_ORACLES:
        assert not any(name.split(".")[0] == "oracles" for name in imports(path)), "only these know the oracles"


@pytest.mark.parametrize("path", sources("oracles"), ids=lambda path: str(path.relative_to(ROOT)))
def test_an_oracle_knows_only_the_vocabulary(path: Path) -> None:
    assert places_of(imports(path)) <= VOCABULARY


def test_the_public_names_are_exactly_these() -> None:
    import harness

    assert set(harness.__all__) == PUBLIC == set(harness._HOMES)
    assert dir(harness) == harness.__all__
    for name in PUBLIC:
        assert getattr(harness, name) is not None


def test_no_public_function_is_named_like_its_module() -> None:
    import harness

    for name, home in harness._HOMES.items():
        assert name != home.rpartition(".")[2]


def test_importing_the_package_loads_no_heavy_library() -> None:
    code = "import sys, harness; print([name for name in ('numpy', 'pandas', 'sklearn') if name in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert run.stdout.strip() == "[]"


def test_an_unknown_public_name_is_an_attribute_error() -> None:
    import harness

    with pytest.raises(AttributeError, match="no attribute 'Auditor'"):
        _ = harness.Auditor


def test_every_module_says_in_one_line_what_it_is_for() -> None:
    for path in [*sources("harness"), *sources("oracles")]:
        docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
        assert docstring, f"{path} has no docstring"
        assert docstring.splitlines()[0].endswith((".", ":", "!")), path
