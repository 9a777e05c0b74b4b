"""The command completion: a script for a shell, written from the parser of the command line."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from harness.cli import arguments
from harness.glossary import TERMS
from harness.vocabulary.error_codes import ERROR_CODES


@dataclass(frozen=True)
class Completed:
    """What can follow one command: options with their help, those whose values are files, and fixed words."""

    help: str
    options: Mapping[str, str]
    files: frozenset[str]  # options that take a path
    words: tuple[str, ...]  # of positional arguments
    wants_files: bool  # whether a positional argument is a path


def completion(chosen: argparse.Namespace) -> int:
    """Print the script for a shell."""
    print(script(chosen.shell))
    return 0


def script(shell: str) -> str:
    """A script that completes the command `harness` in one of the SHELLS."""
    return {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell](dict(_commands()))


def _commands() -> Iterator[tuple[str, Completed]]:
    (parsers,) = (each for each in arguments.parser()._actions if isinstance(each, argparse._SubParsersAction))
    helps = {each.dest: each.help or "" for each in parsers._choices_actions}
    for name, parser in parsers.choices.items():
        yield name, _completed(helps[name], parser)


def _completed(text: str, parser: argparse.ArgumentParser) -> Completed:
    actions = [*_actions(parser)]
    named = [each for each in actions if each.option_strings and each.help != argparse.SUPPRESS]
    positional = [each for each in actions if not each.option_strings]
    words = [str(choice) for each in [*named, *positional] for choice in each.choices or ()]
    if any(each.dest == "words" for each in positional):
        words += [*(term.slug for term in TERMS), *(known.code for known in ERROR_CODES)]
    return Completed(
        text,
        {_long_name(each): each.help or "" for each in named},
        frozenset(option for each in named if each.type is Path for option in each.option_strings),
        tuple(words),
        any(each.type is Path for each in positional),
    )


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """The arguments of a command, and of the actions that it has."""
    for each in parser._actions:
        yield each
        if isinstance(each, argparse._SubParsersAction):
            for inner in each.choices.values():
                yield from _actions(inner)


def _long_name(option: argparse.Action) -> str:
    """The one name of an option that is offered: neither its letter nor an older name."""
    return next(name for name in option.option_strings if name.startswith("--"))


def _bash(commands: Mapping[str, Completed]) -> str:
    cases = "\n".join(
        f'        {name}) words="{" ".join([*known.options, *known.words])}" ;;' for name, known in commands.items()
    )
    files = "|".join(sorted({option for known in commands.values() for option in known.files}))
    return f"""# Completion of the command harness for bash. To install it:
#   harness completion bash > ~/.local/share/bash-completion/completions/harness
_harness() {{
    local current="${{COMP_WORDS[COMP_CWORD]}}" previous="${{COMP_WORDS[COMP_CWORD-1]}}" words
    COMPREPLY=()
    if [ "$COMP_CWORD" -eq 1 ]; then
        COMPREPLY=($(compgen -W "{" ".join(commands)} --version --help" -- "$current"))
        return
    fi
    case "$previous" in
        {files}) return ;;
    esac
    case "${{COMP_WORDS[1]}}" in
{cases}
        *) return ;;
    esac
    COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -o default -F _harness harness"""


def _zsh(commands: Mapping[str, Completed]) -> str:
    names = "\n".join(f"        {_zsh_entry(name, known.help)}" for name, known in commands.items())
    cases = "\n".join(f"        {name})\n{_zsh_case(known)}" for name, known in commands.items())
    return f"""#compdef harness
# Completion of the command harness for zsh. To install it, into a folder of $fpath:
#   harness completion zsh > _harness
_harness() {{
    local -a commands options
    commands=(
{names}
    )
    if (( CURRENT == 2 )); then
        _describe 'command' commands
        return
    fi
    case "$words[2]" in
{cases}
    esac
}}
if [ "$funcstack[1]" = _harness ]; then
    _harness "$@"  # loaded by zsh from a folder of $fpath
else
    compdef _harness harness  # read with `source`
fi"""


def _zsh_case(known: Completed) -> str:
    options = " ".join(_zsh_entry(name, text) for name, text in known.options.items())
    lines = [f"            options=({options})", "            _describe 'option' options"]
    if known.words:
        lines.append(f"            compadd -- {' '.join(known.words)}")
    if known.wants_files or known.files:
        lines.append("            _files")
    return "\n".join([*lines, "            ;;"])


def _zsh_entry(name: str, text: str) -> str:
    return _quoted(f"{name}:{text.replace(':', ' -')}")


def _fish(commands: Mapping[str, Completed]) -> str:
    lines = [
        "# Completion of the command harness for fish. To install it:",
        "#   harness completion fish > ~/.config/fish/completions/harness.fish",
        "complete -c harness -n __fish_use_subcommand -l version -f -d 'print the version and exit'",
    ]
    for name, known in commands.items():
        lines.append(f"complete -c harness -n __fish_use_subcommand -f -a {name} -d {_quoted(known.help)}")
        lines += _fish_options(name, known)
    return "\n".join(lines)


def _fish_options(name: str, known: Completed) -> Iterator[str]:
    inside = f"complete -c harness -n '__fish_seen_subcommand_from {name}'"
    for option, text in known.options.items():
        file = " -r -F" if option in known.files else ""
        yield f"{inside} -l {option.removeprefix('--')}{file} -d {_quoted(text)}"
    if known.words:
        yield f"{inside} -f -a {_quoted(' '.join(known.words))}"


def _quoted(text: str) -> str:
    """A text in single quotes, in which no shell replaces anything; a quote inside becomes a typographic one."""
    return "'" + text.replace("'", "’") + "'"
