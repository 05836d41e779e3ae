"""The N-th write of a command is refused, and all after it: a disk is full, over quota, broken, read-only."""

from __future__ import annotations

from collections.abc import Iterator

from checks import GONE, OLD, Scene
from disk_faults import Spec, run_commands
from fault import OPERATIONS, Allowed, Fault, Operation
from running import Done
from world import World

_ERRORS = ("ENOSPC", "EDQUOT", "EIO", "EROFS")
_NTH = (1, 2, 3, 5, 8, 12, 17, 23, 30, 40)
_ENDS = (0, 2, 3, 4, 5, 6)  # what README tells of, but for defects
_KEPT: Allowed = {"paper": (OLD,)}
_NAMES = (
    "create-uv", "force-uv", "install-uv", "uninstall-uv", "rename", "clone", "create-pip", "install-pip",
)  # fmt: skip
_MORE = (
    Operation("verify", "uv", ("verify", "paper", "--json"), _KEPT, _KEPT),
    Operation("run", "uv", ("run", "paper", "--", "python", "-c", ""), _KEPT, _KEPT),
    Operation("remove-uv", "uv", ("remove", "paper", "--yes", "--json"), {"paper": (GONE,)}, _KEPT),
    Operation("mirrors", "uv", ("mirrors", "use", "tuna", "--yes", "--json"), _KEPT, _KEPT),
    Operation(
        "plan", "uv", ("plan", "torch", "--cuda", "cpu", "--format", "requirements.txt", "-o", "OUT"), _KEPT,
        _KEPT, index=True,
    ),
    Operation("export", "uv", ("export", "paper", "-o", "OUT", "--json"), _KEPT, _KEPT),
)  # fmt: skip
_MINE = "# what the user has written\n"


def writes() -> Iterator[Fault]:
    """Yield each command with each error, at numbers that lie closer where it begins."""
    chosen = (*(item for item in OPERATIONS if item.name in _NAMES), *_MORE)
    for operation in chosen:
        for error in _ERRORS:
            for number in _NTH:
                yield _refused(operation, error, number)


def _refused(operation: Operation, error: str, number: int) -> Fault:
    def befall(world: World) -> Scene:
        world.reset(operation.state)
        user = world.root / "user"
        mine = user / "work" / "requirements.txt"
        mine.write_text(_MINE, encoding="utf-8")
        argv = tuple(str(mine) if word == "OUT" else word for word in operation.argv(world))
        program = world.program_with({"FAKE_TORCH": operation.torch or None})
        spec = Spec((argv,), dict(program.environ), refused=error, first=number, below=f"{user}/")
        (done,) = run_commands(spec)
        ended = Done(done["status"], done["out"], done["err"])
        through = done["status"] == operation.ends and not done["told"]
        allowed = operation.through if through else operation.either()
        text = "--json" not in argv
        scene = Scene(world, operation.state, ended, frozenset(_ENDS), allowed, killed=True, text=text)
        if done["told"] and mine.read_text(encoding="utf-8") != _MINE:
            raise AssertionError(f"the user's file is lost: {mine.read_text(encoding='utf-8')[:200]!r}")
        if done["status"] and done["told"] and not _names(done, str(user)):
            raise AssertionError(f"nothing says where: {done['out'][-400:]!r} {done['err'][-400:]!r}")
        return scene

    return Fault(f"write/{operation.name}/{error}/{number}", befall)


def _names(done: dict[str, str], user: str) -> bool:
    """Tell whether a failure says which file, or folder, could not be written."""
    return user in done["out"] + done["err"]
