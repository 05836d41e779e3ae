"""gpuenv as it would be without one of its mends, which shows that an attack is real and its check can fail.

A variant undoes one mend in the process that it is called in. A run of gpuenv has it by
`Program.without`, which starts this file: `variants.py NAME[+NAME...] ARGUMENTS`.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from msgspec import structs

Replace = Callable[[object, str, object], None]


def undo(names: str, replace: Replace = setattr) -> None:
    """Undo the mends of these variants, whose names are joined by `+`; `replace` is as setattr is."""
    for name in filter(None, names.split("+")):
        VARIANTS[name](_Everywhere(replace))


class _Everywhere:
    """Puts another function in the place of one, in all modules that have imported it by name."""

    def __init__(self, replace: Replace) -> None:
        self.attribute = replace

    def __call__(self, old: Any, new: Any) -> None:
        modules = [
            module
            for name, module in list(sys.modules.items())
            if name.startswith("gpuenv") and module is not None
        ]
        bound = [(module, name) for module in modules for name, value in vars(module).items() if value is old]
        assert bound, old
        for module, name in bound:
            self.attribute(module, name, new)


VARIANTS: dict[str, Callable[[_Everywhere], None]] = {}


def _variant(function: Callable[[_Everywhere], None]) -> Callable[[_Everywhere], None]:
    VARIANTS[function.__name__.strip("_").replace("_", "-")] = function
    return function


# the folder one stands in


@_variant
def _children_start_here(replace: _Everywhere) -> None:
    """Children start in the folder that gpuenv was started in."""
    from gpuenv.process import surroundings  # noqa: PLC0415

    replace(surroundings.empty_folder, Path.cwd)


@_variant
def _uv_looks_around(replace: _Everywhere) -> None:
    """Uv looks for its configuration itself, in the folder that it starts in and above."""
    from gpuenv.indexes.configuration import uv_settings  # noqa: PLC0415

    replace(uv_settings.uv_variables, lambda environ, *_: dict(environ))


@_variant
def _own_folder_first(_: _Everywhere) -> None:
    """Python looks for gpuenv's own modules in the folder one stands in, as `python -m` does."""
    sys.path.insert(0, "")


@_variant
def _pythons_see_everything(replace: _Everywhere) -> None:
    """Pythons are started without -I."""
    from gpuenv.process import children  # noqa: PLC0415

    start = children.start_child

    def start_seeing(argv: Any, *rest: Any) -> Any:
        return start([word for word in argv if word != "-I"], *rest)

    replace(start, start_seeing)


@_variant
def _relative_path_counts(replace: _Everywhere) -> None:
    """Relative and empty entries of PATH are looked into like others."""
    from gpuenv.process import surroundings  # noqa: PLC0415

    def directories(environ: Any) -> tuple[Path, ...]:
        return tuple(Path.cwd() / entry for entry in environ.get("PATH", "").split(os.pathsep))

    replace(surroundings.path_directories, directories)


@_variant
def _empty_folder_is_believed(replace: _Everywhere) -> None:
    """The folder that children start in is used whatever it is and whatever lies in it."""
    from gpuenv.process import surroundings  # noqa: PLC0415

    replace(surroundings._is_ours, lambda _: True)
    replace(surroundings._is_empty, lambda _: True)


# what a plan runs


@_variant
def _builds_what_is_named(replace: _Everywhere) -> None:
    """What a file names by address is resolved, and so built, like anything else."""
    from gpuenv.installers import uv_compile as resolver  # noqa: PLC0415

    replace(resolver.without_building, lambda question, environ, compile_one: compile_one(question, environ))


@_variant
def _builds_where_told_not_to(replace: _Everywhere) -> None:
    """--only-binary is not heeded."""
    from gpuenv.installers import uv  # noqa: PLC0415
    from gpuenv.resolution import direct_urls as by_address  # noqa: PLC0415

    options = uv.source_options
    replace(by_address.refuse_building, lambda _: None)
    replace(options, lambda sources: options(structs.replace(sources, only_binary=False)))


# what a stranger's files name


@_variant
def _variables_go_into_addresses(replace: _Everywhere) -> None:
    """An address with `${NAME}` is resolved like any other."""
    from gpuenv.resolution import direct_urls as by_address  # noqa: PLC0415

    replace.attribute(by_address, "_VARIABLE", "no address has this")


@_variant
def _uv_sees_all_variables(replace: _Everywhere) -> None:
    """A resolver sees the user's variables beside a stranger's wheels."""
    from gpuenv.installers import resolver_variables  # noqa: PLC0415
    from gpuenv.installers import uv_compile as resolver  # noqa: F401, PLC0415

    replace(resolver_variables.only_of_uv, dict)
    replace(resolver_variables.may_tell_secrets, lambda *_: False)


@_variant
def _lines_of_places_count(replace: _Everywhere) -> None:
    """What a requirements file says of indexes is set for uv and pip, as they would do it."""
    from gpuenv.planning import requirements  # noqa: PLC0415

    read = requirements._read_line

    def read_heeding(line: str, *rest: Any) -> Any:
        if requirements._PLACES.match(line):
            option, _, url = line.replace("=", " ").partition(" ")
            name = "UV_FIND_LINKS" if option in ("-f", "--find-links") else "UV_INDEX"
            os.environ[name] = url
        return read(line, *rest)

    replace(read, read_heeding)


@_variant
def _writes_through_links(replace: _Everywhere) -> None:
    """What is written goes to wherever a link leads."""
    from gpuenv.files import write_output as write  # noqa: PLC0415

    replace(write._refuse_leading_away, lambda _: None)
    replace(write.refuse_foreign_file, lambda _: None)


# environments of others


@_variant
def _anyones_python_is_started(replace: _Everywhere) -> None:
    """Nobody asks whose an environment is."""
    from gpuenv.verification import owner  # noqa: PLC0415

    replace(owner.other_owner, lambda _: None)


@_variant
def _setup_py_is_run(replace: _Everywhere) -> None:
    """A setup.py is run to learn what it asks for."""
    from gpuenv.adapt.parsers import setuptools as left_setup  # noqa: PLC0415

    parse = left_setup.parse_python_text

    def run_and_parse(text: str) -> Any:
        with suppress(BaseException):
            exec(text, {})  # noqa: S102
        return parse(text)

    replace(parse, run_and_parse)


@_variant
def _git_obeys_the_repository(replace: _Everywhere) -> None:
    """Git runs as anybody would run it."""
    from gpuenv.adapt import git_date as left_date  # noqa: PLC0415

    run = left_date.run

    def run_plainly(argv: Any, **how: Any) -> Any:
        return run([word for word in argv if word != "--no-show-signature"], **how)

    replace.attribute(left_date, "_SAFELY", ())
    replace.attribute(left_date, "_ASKING_NOTHING", {})
    replace.attribute(left_date, "run", run_plainly)


@_variant
def _locks_are_believed(replace: _Everywhere) -> None:
    """A lock's addresses and hashes are taken as they stand."""
    from gpuenv.locks import parse_pylock as read_lock  # noqa: PLC0415

    replace(read_lock._hash, lambda _, hashes: str(hashes))
    replace(read_lock._address, lambda _, url, *__: url)


@_variant
def _members_lie_anywhere(replace: _Everywhere) -> None:
    """The names in an archive are not looked at."""
    from gpuenv.wheels import archive as wheel_archive  # noqa: PLC0415

    replace(wheel_archive._is_unsafe, lambda _: False)


@_variant
def _pages_name_local_files(replace: _Everywhere) -> None:
    """A page may lead to any address, wherever it comes from."""
    from gpuenv.indexes import link, parse_html, parse_json  # noqa: F401, PLC0415

    replace(link.leads_inside, lambda *_: False)


# other files in the place of those that were planned


@_variant
def _what_is_installed_is_believed(replace: _Everywhere) -> None:
    """What an installer has put in is not compared with the wheels that were checked."""
    from gpuenv.environments import wheel_check  # noqa: PLC0415

    replace(wheel_check.check_files, lambda *_: None)
    replace.attribute(wheel_check.FileCheck, "compare", lambda *_: None)


@_variant
def _cached_wheels_are_believed(replace: _Everywhere) -> None:
    """A file in the cache counts as what the name of its folder says."""
    from gpuenv.environments import wheel_cache  # noqa: PLC0415

    def digest_by_name(path: Path, _: Any) -> str:
        return path.parent.name

    replace(wheel_cache.digest_of, digest_by_name)


@_variant
def _what_is_unread_is_let_be(replace: _Everywhere) -> None:
    """An index of the user's own that does not answer is left out of the order."""
    from gpuenv.planning import index_order  # noqa: PLC0415

    replace(index_order.unread_private, lambda *_: None)


@_variant
def _any_index_serves(replace: _Everywhere) -> None:
    """Of all indexes the newest release is taken."""
    from gpuenv.installers import uv  # noqa: PLC0415

    environment = uv.environment
    newest = {"UV_INDEX_STRATEGY": "unsafe-best-match"}
    replace(environment, lambda *given: {**environment(*given), **newest})


@_variant
def _pages_are_believed(replace: _Everywhere) -> None:
    """A page's digest of a file counts, whatever is known of it."""
    from gpuenv.resolution import digests  # noqa: PLC0415

    replace(digests._contradicts, lambda *_: False)


# what is printed and written


@_variant
def _texts_as_they_come(replace: _Everywhere) -> None:
    """What others wrote is printed as it is."""
    from gpuenv.untrusted import printable  # noqa: PLC0415

    replace.attribute(printable, "_HARMFUL", re.compile("(?!)"))


@_variant
def _lines_as_they_come(replace: _Everywhere) -> None:
    """Texts are put into comments and labels with their line breaks."""
    from gpuenv.fleet.render import ansible, slurm  # noqa: F401, PLC0415
    from gpuenv.formats import dockerfile_syntax as dockerfile_lines  # noqa: F401, PLC0415
    from gpuenv.formats import shell  # noqa: PLC0415

    replace(shell.one_line, lambda text: text)


@_variant
def _hosts_as_they_are_called(replace: _Everywhere) -> None:
    """Any name of a host is taken."""
    from gpuenv.fleet.render import ansible  # noqa: PLC0415

    replace(ansible.checked_host, lambda host, _reserved=(): host)


@_variant
def _labels_as_they_come(replace: _Everywhere) -> None:
    """Values of labels are put between quotes as they are."""
    from gpuenv.formats import dockerfile_syntax as dockerfile_lines  # noqa: PLC0415

    replace(dockerfile_lines.quoted, '"{}"'.format)


@_variant
def _words_unquoted(replace: _Everywhere) -> None:
    """Words are put into commands and requirements files without quotes."""
    from gpuenv.formats import commands, requirements, shell  # noqa: F401, PLC0415

    replace(shell.render_command, lambda argv, *_: " ".join(argv))
    replace(requirements._option, "{} {}".format)
    replace(requirements._one_word, str)


@_variant
def _markup_as_it_comes(replace: _Everywhere) -> None:
    """Texts are put into pages as they are."""
    from gpuenv.fleet.render import report as fleet_report  # noqa: PLC0415
    from gpuenv.matrix.page import render as matrix_page  # noqa: PLC0415

    replace.attribute(fleet_report, "escape", str)
    replace.attribute(matrix_page, "_ESCAPED", {})


# passwords


@_variant
def _keyrings_tell_everybody(replace: _Everywhere) -> None:
    """A keyring is asked for whatever server wants a password."""
    from gpuenv.indexes.configuration import keyring  # noqa: PLC0415

    replace(keyring._server, lambda _: ("https", "any", 443))


@_variant
def _unverified_leads_on(replace: _Everywhere) -> None:
    """Where one server is taken without a certificate, all are."""
    from gpuenv.model import access  # noqa: PLC0415

    replace.attribute(access.Access, "is_insecure", lambda self, *_: bool(self.insecure_hosts))


@_variant
def _arguments_hold_passwords(replace: _Everywhere) -> None:
    """What is started gets passwords among its arguments."""
    from gpuenv.process import children  # noqa: PLC0415

    replace(children._concealed, lambda argv, environ: (tuple(argv), environ))


@_variant
def _passwords_are_shared(replace: _Everywhere) -> None:
    """Addresses are written and shown with what is secret in them."""
    from gpuenv.secrets import url_credentials  # noqa: PLC0415

    for function in (url_credentials.redact_credentials, url_credentials.without_userinfo):
        replace(function, str)


# what a kill left


@_variant
def _journals_are_believed(replace: _Everywhere) -> None:
    """Journals and the ledger are read whoever has written them."""
    from gpuenv.environments import ledger  # noqa: F401, PLC0415 - it reads them
    from gpuenv.files import read_limited as reading  # noqa: PLC0415

    replace(reading.read_own, reading.read_limited)


@_variant
def _links_are_followed(replace: _Everywhere) -> None:
    """What lies behind a link in an environment counts as lying in it."""
    from gpuenv.environments.folders import within  # noqa: PLC0415

    replace.attribute(within.Within, "holds", lambda *_: True)


@_variant
def _any_folder_is_own(replace: _Everywhere) -> None:
    """What was kept for a change is looked for wherever its name leads."""
    from gpuenv.environments import ledger  # noqa: PLC0415

    replace(ledger._is_own_folder, Path.exists)


@_variant
def _any_owner(replace: _Everywhere) -> None:
    """Nobody looks whose a file is."""
    from gpuenv.environments import ledger, snapshot  # noqa: F401, PLC0415 - they ask
    from gpuenv.files import read_limited as reading  # noqa: PLC0415
    from gpuenv.on_disk import directories  # noqa: PLC0415

    replace(reading.is_own, lambda _: True)
    replace(directories.restrict_directory, lambda _: True)


@_variant
def _any_note_is_touched(replace: _Everywhere) -> None:
    """The time of the last use is set wherever its file leads."""
    from gpuenv.environments.contents import last_use as usage  # noqa: PLC0415

    replace(usage.mark_used, lambda root: (root / usage.FILE_NAME).touch())


def _main() -> None:
    sys.path.pop(0)  # the folder of this file
    names = sys.argv.pop(1)
    from gpuenv.__main__ import main  # noqa: PLC0415

    undo(names)
    main()


if __name__ == "__main__":
    _main()
