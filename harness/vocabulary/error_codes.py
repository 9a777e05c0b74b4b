"""The stable code of every error, and what to do about it. `harness explain E202` and the manual print these texts.

A code belongs to a kind of error and the modules that raise it, so that messages can be worded anew while a code
stays what it is. Codes begin with 2 for what the auditor gave, 3 for the oracle, 4 for the files of an audit and 5 for
worker processes. A code is never used again for something else.
"""

from dataclasses import dataclass

from harness.vocabulary.errors import (
    FailedError,
    HarnessError,
    InputError,
    JournalError,
    NotWrittenError,
    OracleError,
    ReleaseError,
    WorkerError,
)

ANYWHERE = ("",)  # a prefix of every module: for what no other entry of that kind claims


@dataclass(frozen=True)
class ErrorCode:
    """One code: the kind of error, the modules (or packages) that raise it, what it means and what to do."""

    code: str
    title: str
    kind: type[HarnessError]
    modules: tuple[str, ...]
    meaning: str
    remedy: str


ERROR_CODES: tuple[ErrorCode, ...] = (
    ErrorCode(
        "E200", "Something you gave is wrong", InputError, ANYWHERE,
        "A file, a column, an option or an argument cannot be used. No more specific code fits.",
        "Correct what the message names. It says what was expected.",
    ),
    ErrorCode(
        "E201", "audit.toml cannot be used", InputError, ("harness.auditing.config", "harness.auditing.statements"),
        "The file is not there, is not TOML, lacks a required key, has a key that does not exist, or a value of the "
        "wrong type. The message names the section and the key, and the nearest valid name.",
        "Compare the key with the reference of audit.toml. `harness plan audit.toml` checks the file again without "
        "running the audit.",
    ),
    ErrorCode(
        "E202", "The data cannot be read", InputError,
        (
            "harness.vocabulary.source", "harness.vocabulary.dataset", "harness.vocabulary.table",
            "harness.vocabulary.files",
        ),
        "The data file is not there or is not a CSV or Parquet file, a declared column is not in it, a cell does not "
        "fit the declared kind of its column, or a row has gaps.",
        'Correct the path, the name of the column or the cell that the message names. For rows with gaps, '
        '`missing = "drop"` leaves them out and `missing = "keep"` treats a gap as a value.',
    ),
    ErrorCode(
        "E203", "A column is declared wrongly", InputError,
        ("harness.vocabulary.schema", "harness.vocabulary.values"),
        "The kind of a column is not known, one of its keys does not belong to its kind, or a value of that key "
        "cannot be used.",
        "The kinds are number, category, ordered and date. The reference of columns lists the keys of each.",
    ),
    ErrorCode(
        "E204", "A hierarchy cannot be used", InputError, ("harness.vocabulary.hierarchy",),
        "A hierarchy has no single root, names a value at two places, or leaves out a value of the data.",
        "Write one line for each raw value, `leaf;…;root`, with the same root on every line.",
    ),
    ErrorCode(
        "E205", "A setting of the audit is impossible", InputError,
        (
            "harness.auditing.plan", "harness.auditing.select", "harness.auditing.verdict", "harness.api",
            "harness.measuring.privacy_claim", "harness.measuring.privacy_loss", "harness.measuring.certificate",
        ),
        "A number is outside its range (epsilon, confidence, draws, records, budget), two settings contradict each "
        "other, or findings are to be judged for a claim they were not measured for.",
        "The message names the setting and the range. Correct it in audit.toml or in the call of `harness.audit`.",
    ),
    ErrorCode(
        "E206", "An encoding cannot be used", InputError,
        (
            "harness.measuring.encoding", "harness.measuring.encode_release", "harness.measuring.release_encoder",
            "harness.measuring.features",
        ),
        "The name of an encoding is not known, an option does not belong to it, or it does not fit the columns.",
        "Choose a name from the reference of encodings; `tf-tf` is the default and fits every column.",
    ),
    ErrorCode(
        "E207", "A model cannot be used", InputError, ("harness.measuring.models",),
        "The name of a model is not known, its class cannot be loaded, has no `predict_proba`, or it predicted "
        "something that is no probability distribution.",
        "Choose a name from the reference of models, or `sklearn:package.Class` for a classifier of scikit-learn.",
    ),
    ErrorCode(
        "E208", "A prior cannot be used", InputError, ("harness.measuring.prior",),
        "A prior names values that the sensitive column does not have, does not sum to 1, or has the wrong number "
        "of rows.",
        "Name every value of the sensitive column once; the probabilities sum to 1.",
    ),
    ErrorCode(
        "E209", "A distance cannot be used", InputError,
        ("harness.measuring.divergence", "harness.measuring.estimate", "harness.measuring.samples"),
        "The name of a distance is not known, `emd` has no ground distance, or two predictions cannot be compared.",
        'Choose a name from the reference of distances; `sum` is the default.',
    ),
    ErrorCode(
        "E210", "The adversaries cannot be used", InputError, ("harness.measuring.adversary",),
        "A key of an `[[adversary]]` table or the name of a panel is not known, or two adversaries have one name.",
        "The keys are encoder, model, prior and name; the panels are listed in the reference.",
    ),
    ErrorCode(
        "E211", "Something cannot be imported by its name", InputError, ("harness.vocabulary.loading",),
        "An address or a setting of the form `package.module:name` names a module that cannot be imported, or a name "
        "that the module does not have.",
        "The module must be in the current folder, beside the audit.toml where there is one, or installed. Import it "
        "in Python to see the whole error.",
    ),
    ErrorCode(
        "E212", "The address of an oracle, or one of its options, is wrong", InputError,
        ("oracles", "oracles.clients", "oracles.middleware", "harness.cli.option_words"),
        "The scheme of the address is not known, an option does not belong to it, or a value of an option cannot be "
        "used.",
        "The reference of oracles lists every address with its options.",
    ),
    ErrorCode(
        "E213", "A reference anonymizer cannot do this", InputError, ("oracles.reference",),
        "A parameter of Mondrian, Laplace or another reference anonymizer is out of its range, or the data cannot be "
        "anonymized with it.",
        "The message names the parameter and its range.",
    ),
    ErrorCode(
        "E214", "The workers cannot be used", InputError, ("harness.executors",),
        "`workers` is neither a number nor an address, no Dask scheduler answers, or the anonymizer cannot be sent to "
        "another process.",
        "Use a number, `local:4` or `tcp://scheduler:8786`; `workers = 1` runs everything in one process. An "
        "anonymizer that is a lambda or a local function must become a function of a module.",
    ),
    ErrorCode(
        "E215", "The server cannot be started", InputError, ("harness.cli.serving", "oracles.serve"),
        "`harness serve` cannot listen on the address, has no token although others can reach it, or the certificate "
        "cannot be used.",
        "Listen on 127.0.0.1 for a first try; for other machines give `--token-env` and `--cert` with `--key`.",
    ),
    ErrorCode(
        "E216", "A report cannot be read or written", InputError,
        ("harness.report", "harness.render", "harness.cli.audits"),
        "The folder has no report.json, the file is not a report of this format, or the output file cannot be written.",
        "Give the `--out` folder of a finished run. A run that was interrupted has no report yet: run it again.",
    ),
    ErrorCode(
        "E217", "The data cannot be sent to another machine", InputError, ("oracles.wire",),
        "A question or a dataset has no form in the protocol: a domain of mixed types, numbers beyond 64 bits, too "
        "many rows to leave out.",
        "Declare the column as a category, or use an address on this machine (`python:` or `cmd:`).",
    ),
    ErrorCode(
        "E218", "A recording cannot be used", InputError, ("oracles.recording",),
        "The file of `record` or `replay` cannot be read or written, or it is a recording of something else.",
        "Record again with the same plan, or correct the path.",
    ),
    ErrorCode(
        "E219", "There is nothing to explain under this name", InputError, ("harness.cli.explaining",),
        "`harness explain` knows the terms of the output and the codes of errors.",
        "`harness explain` without a name lists all of them.",
    ),
    ErrorCode(
        "E220", "An audit cannot be signed", InputError,
        ("harness.signing", "harness.cli.signing", "harness.cli.evidence"),
        "The package cryptography is not installed, a key cannot be read, is not Ed25519 or may be read by others, "
        "the audit is not finished, or it is signed already or not at all.",
        "Make a key with `openssl genpkey -algorithm ed25519 -out KEY.pem`, and its public part with `openssl pkey -in "
        "KEY.pem -pubout -out PUBLIC.pem`. Sign with the first, verify with the second.",
    ),
    ErrorCode(
        "E221", "An audit.toml cannot be proposed", InputError, ("harness.cli.initializing", "harness.initializing"),
        "`harness init` found no column that can be sensitive or known, a column that was named is not in the data, or "
        "the file to write exists already.",
        "Say with `--sensitive` and `--quasi` which columns to take, with `-o` or `--force` where to write.",
    ),
    ErrorCode(
        "E222", "The demo cannot be shown like this", InputError, ("harness.demo",),
        "`harness demo` was asked for fewer people than can be anonymized in groups.",
        "Give `--people` a number of at least 20, or leave it out.",
    ),
    ErrorCode(
        "E225", "A release cannot be measured", InputError, ("harness.measuring.metrics",),
        "The released table lacks a declared column, has no rows, or holds a cell that cannot be read or a sensitive "
        "value that is not declared; or a discrimination rate is asked for a value that no row has.",
        "Correct the column, cell or value that the message names, or what schema.toml declares of it. A name of a "
        "group of values, such as `North America`, needs a hierarchy that has it.",
    ),
    ErrorCode(
        "E230", "These audits cannot be compared", InputError, ("harness.analysis.compare", "harness.cli.comparing"),
        "A comparison is about the same people, the same claim, the same adversaries and the same distance. The "
        "message names what differs.",
        "Audit both anonymizers with the same audit.toml, apart from [oracle].",
    ),
    ErrorCode(
        "E231", "sweep.toml cannot be used", InputError, ("harness.analysis.sweep_file",),
        "There is no table [sweep], a key of it does not exist in audit.toml, its values are no list and no range, or "
        "a cell is no possible audit. The message names the table, the key and the nearest valid name.",
        'Write keys as audit.toml has them, section and key: "oracle.options.k" = [2, 5, 10].',
    ),
    ErrorCode(
        "E232", "A repair cannot be made", InputError, ("harness.analysis.prune",),
        "A budget of rounds or persons is below 1.",
        "Give numbers of at least 1, or leave them out.",
    ),
    ErrorCode(
        "E233", "A data set cannot be fetched", InputError, ("harness.cli.fetching",),
        "OpenML could not be reached, does not have the data set any more, or the file cannot be written.",
        "Look after the network or the proxy, or download the file from the UCI repository by hand.",
    ),
    ErrorCode(
        "E240", "A baseline cannot be used", InputError,
        (
            "harness.analysis.baseline", "harness.analysis.baseline_file", "harness.analysis.person_digest",
            "harness.analysis.regression", "harness.cli.baselines",
        ),
        "The file of a baseline cannot be read or written, was edited so that it makes no sense, belongs to another "
        "audit (claim, data, adversaries), its key is missing or another one, or the finding to accept is not there.",
        "`harness baseline compare` prints the names of findings. Save a new baseline where the audit itself changed, "
        "and review the difference.",
    ),
    ErrorCode(
        "E300", "The oracle failed", OracleError, ANYWHERE,
        "The anonymizer, or the way to it, failed. No more specific code fits.",
        "Ask the vendor with the message at hand. What was measured is kept; the same command continues.",
    ),
    ErrorCode(
        "E301", "The anonymizer raised an error", OracleError,
        ("oracles.clients.local", "oracles.clients.isolated"),
        "A Python anonymizer (`python:module:function`, or a function in Python) raised an exception, or ended its "
        "process.",
        "The message names the exception, the file and the line. The anonymizer must work on the data without any "
        "one person, too.",
    ),
    ErrorCode(
        "E302", "The program of the anonymizer failed", OracleError,
        ("oracles.clients.command", "oracles.clients.persistent_command"),
        "The program of a `cmd:` address ended with another status than 0, took too long, or closed its output.",
        "Run the program by hand with a small CSV on standard input. `timeout` gives it more seconds.",
    ),
    ErrorCode(
        "E303", "The server of the anonymizer cannot be reached or did not answer", OracleError,
        ("oracles.clients.web", "oracles.clients.http", "oracles.clients.grpc", "oracles.clients.table_api"),
        "No connection, a refused certificate or token, an answer that came too late, or a status of the server that "
        "says it failed.",
        "Check address, token and certificate; `timeout`, `attempts` and `patience` give it more time. The same "
        "command continues.",
    ),
    ErrorCode(
        "E304", "The server of the anonymizer refused the question", OracleError, ("oracles.wire",),
        "The server understood the question and refused it with a code of the protocol, such as TOO_LARGE or INVALID.",
        "The message is the server's own. PROTOCOL.md, section 7, explains the codes.",
    ),
    ErrorCode(
        "E305", "The oracle failed too often", OracleError, ("harness.auditing.failures",),
        "Several questions in a row failed and f(D) is not answered any more either; or more persons could not be "
        "measured than `max_failures` allows; or none of the first 20 could.",
        "Correct the cause, which the message names. The same command continues; with `--retry-failed` it also asks "
        "again about those who could not be measured.",
    ),
    ErrorCode(
        "E306", "The recording has no answer to this question", OracleError, ("oracles.recording",),
        "An audit that is replayed asked something that was not recorded.",
        "Replay with the plan that was recorded: same data, seed, draws and adversaries.",
    ),
    ErrorCode(
        "E307", "The oracle is not what its card says", OracleError, ("harness.auditing.probe",),
        "The first questions of an audit showed that the oracle contradicts its own card, so that no result would mean "
        "anything.",
        "The vendor must correct the card or the anonymizer.",
    ),
    ErrorCode(
        "E308", "The anonymizer failed behind its server", FailedError, ("oracles.wire",),
        "The server and the way to it work, but the anonymizer itself raised an exception, ended its process or took "
        "too long on one question. The auditor reads the class of the exception at most.",
        "The vendor finds the message and the traceback where `harness serve` runs. The anonymizer must work on the "
        "data without any one person, too. What was measured is kept; the same command continues.",
    ),
    ErrorCode(
        "E309", "The anonymizer refuses the table", OracleError, ("oracles.reference",),
        "All rows together break the rule of a reference anonymizer: k is larger than the table, or the table as a "
        "whole is not ℓ-diverse. Without one person that may be so although D itself can be released; she is then not "
        "measured.",
        "Lower k or ℓ, give more rows, or choose `infeasible = \"generalise\"` of Mondrian, which suppresses every "
        "quasi-identifier of such a table and says so.",
    ),
    ErrorCode(
        "E350", "The answer is not a release of the data", ReleaseError, ANYWHERE,
        "A declared column is missing in the release, a cell cannot be read, a sensitive value is new, or the number "
        "of releases is wrong.",
        "Every declared column comes back under its own name; sensitive values stay as they are or are suppressed. If "
        "a cell is right but unreadable, declare its `notation`, `hierarchy` or `order`.",
    ),
    ErrorCode(
        "E351", "The answer is malformed", ReleaseError, ("oracles",),
        "The bytes that arrived are not what the transport carries: no CSV, no JSON, no message of the protocol, or "
        "larger than allowed.",
        "A program must print nothing but the table on standard output. For a server see PROTOCOL.md.",
    ),
    ErrorCode(
        "E400", "The files of an audit are incomplete, or contradict each other", JournalError, ANYWHERE,
        "Either the audit is not finished, as the message then says; or report.json, summary.txt or draws that were "
        "kept do not follow from the journal, or the journal holds what no audit writes: a file was changed.",
        "Run an unfinished audit again to continue it. Do not rely on a folder with a changed file: run the audit "
        "again into another one.",
    ),
    ErrorCode(
        "E401", "The journal cannot be used", JournalError,
        (
            "harness.auditing.journal", "harness.auditing.draw_store", "harness.auditing.salvage",
            "harness.auditing.folder",
        ),
        "There is no journal, so that nothing was audited in this folder, or its report is without proof; or it "
        "belongs to another plan or another anonymizer, is used by another run, or was changed.",
        "Use another `--out` folder for another plan. Wait for the other run to end. What is left of a damaged journal "
        "`harness salvage` keeps in a new folder, where the audit goes on.",
    ),
    ErrorCode(
        "E402", "The signature does not fit", JournalError, ("harness.signing",),
        "attestation.json was made with another key, is of another audit, was changed, or a file that was signed was "
        "changed or is missing. The message says which.",
        "Get the folder again from whoever signed it, and the public key from a source that you trust. After running "
        "an audit again, remove attestation.json and sign anew.",
    ),
    ErrorCode(
        "E403", "A file of an audit cannot be written", NotWrittenError, ANYWHERE,
        "The disk is full, a quota or a limit on the size of files is reached, the folder may not be written to, or a "
        "directory stands where the file belongs. The message names the file and the reason. What was written before "
        "is complete.",
        "Make room, or move that directory away, and run the same command again: it goes on where it stopped.",
    ),
    ErrorCode(
        "E404", "Shards of an audit do not fit together", JournalError, ("harness.auditing.merge",),
        "A folder holds a shard of another audit, persons of another shard, or answers that contradict those of the "
        "other shards; or a merge of other shards is in the --out folder.",
        "Give the folders of all shards of one audit, each once. Where f answered the shards differently, audit it "
        "without shards: it is not deterministic, or not the same everywhere.",
    ),
    ErrorCode(
        "E500", "Worker processes were lost", WorkerError, ANYWHERE,
        "A worker process ended, the scheduler of a cluster is gone, or no worker joined it.",
        "What was measured is kept; the same command continues. A worker that ends again and again may lack memory: "
        "use fewer workers.",
    ),
)  # fmt: skip


def code_of(error: HarnessError) -> str:
    """The code of an error, such as "E202"."""
    return code_for(type(error), error.raised_in)


def code_for(kind: type[HarnessError], module: str) -> str:
    """The code of a kind of error that a module raises: that of its nearest kind and longest matching module."""
    for base in kind.__mro__:
        fitting = [
            (len(prefix), known.code)
            for known in ERROR_CODES
            if known.kind is base
            for prefix in known.modules
            if prefix in ("", module) or module.startswith(f"{prefix}.")
        ]
        if fitting:
            return max(fitting)[1]
    raise LookupError(f"no code for {kind.__name__} in {module}")
