"""Projects whose wheels are made for one torch: chosen with it, or refused with what helps."""

from __future__ import annotations

import shlex

import pytest
from bound_shop import Pages, listed, pages, with_pages
from deciding import NOTHING_CONFIGURED, Asked, machine
from mirrored import Table, tables
from msgspec.structs import replace
from packaging.requirements import Requirement
from packaging.version import Version
from published import Published
from sampling import every

from gpuenv.model.errors import GpuenvError, Unsatisfiable
from gpuenv.model.index import IndexSource
from gpuenv.model.plan import Plan
from gpuenv.resolution.decision import Solution
from gpuenv.resolution.plan_builder import build_plan
from gpuenv.resolution.report.refusal import refuse
from gpuenv.resolution.resolve import ResolutionInput, decide
from gpuenv.resolution.rules.torch_bound import page_for, parse_binding
from gpuenv.resolution.torch_bound_pages import pages_to_read

PROJECTS = ("flash-attn", "torch-scatter", "mmcv")
H100 = {"driver": "535.104.05", "gpus": ["9.0"]}
RTX_5090 = {"driver": "580.95.05", "gpus": ["12.0"]}


def question(
    short: dict[str, object], *words: str, shop: Pages | None = None, **asked: object
) -> ResolutionInput:
    return with_pages(Asked((machine(short),), ("torch", *words), **asked).question(), shop)  # type: ignore[arg-type]


def best(asked: ResolutionInput) -> Solution:
    return decide(asked).choices[0]


def plan(asked: ResolutionInput) -> Plan:
    decision = decide(asked)
    return build_plan(asked, decision, decision.choices[0], NOTHING_CONFIGURED)


def refusal(asked: ResolutionInput) -> GpuenvError:
    decision = decide(asked)
    assert not decision.choices
    return refuse(asked, decision)


def texts(error: GpuenvError) -> str:
    return " / ".join(
        (error.message, *(reason.text for reason in error.because), *(fix.text for fix in error.fixes))
    )


@pytest.mark.parametrize(
    ("table", "project"),
    every(30, ((table, project) for table in tables() for project in PROJECTS)),
    ids=lambda value: getattr(value, "name", value),
)
def test_a_plan_names_a_wheel_that_a_page_for_its_torch_lists_or_there_is_none(
    table: Table, project: str
) -> None:
    requested = Asked((table.machine,), ("torch", project), python=table.python)
    try:
        value = with_pages(requested.question())
    except GpuenvError:
        return  # a broken driver: nothing is decided
    solutions = decide(value).choices
    for solution in solutions[:3]:
        (item,) = solution.companions
        wheels = value.knowledge.ecosystem.set_of(project)
        assert wheels is not None
        page = page_for(wheels, solution.candidate, str(item.release))
        assert item.listing.page == page
        assert item.file.filename in pages()[page]
    if not solutions:
        refused = refusal(value)
        assert project in refused.message
        assert not [fix for fix in refused.fixes if fix.command and not _holds(fix.command, requested)]


def _holds(command: str, asked: Asked) -> bool:
    """Whether what a fix says is decided when it is asked."""
    if "--find-links" in shlex.split(command):
        return True
    return bool(decide(with_pages(asked.again(command).question())).choices)


@pytest.mark.slow
@pytest.mark.parametrize("project", PROJECTS)
def test_no_newer_torch_has_a_wheel_on_any_page(project: str) -> None:
    inputs = question(H100, project)
    chosen = best(inputs)
    others = [
        choice for choice in decide(question(H100)).choices if choice.candidate.torch > chosen.candidate.torch
    ]
    wheels = inputs.knowledge.ecosystem.set_of(project)
    assert wheels is not None
    assert others
    for solution in others:
        minor = f"{solution.candidate.torch.major}.{solution.candidate.torch.minor}"
        named = [name for page in pages().values() for name in page if f"torch{minor}cxx" in name]
        assert not named if wheels.by_version else page_for(wheels, solution.candidate) not in pages()


def test_flash_attn_is_taken_with_the_abi_of_torch() -> None:
    for torch, abi in (
        ("2.5.1", "FALSE"),
        ("2.6.0+cu126", "TRUE"),
        ("2.6.0+cu124", "FALSE"),
        ("2.8.0", "TRUE"),
    ):
        name = (
            best(question(H100, f"torch=={torch}", "flash-attn", python="3.11")).companions[0].file.filename
        )
        assert f"cxx11abi{abi}-cp311" in name


@pytest.mark.slow
def test_a_release_without_code_for_the_gpu_is_passed_over() -> None:
    error = refusal(question(RTX_5090, "flash-attn==2.7.4.post1"))
    assert "sm_80 sm_90, none of which runs on 12.0" in texts(error) or "no wheel" in texts(error)
    assert best(question(RTX_5090, "flash-attn")).companions[0].release >= Version("2.8")


def test_what_has_no_files_yet_gives_way_to_the_release_before() -> None:
    newest = next(page for page in pages() if page.endswith("v2.8.3.post1"))
    chosen = best(question(H100, "flash-attn", shop={**pages(), newest: ()}))
    assert chosen.companions[0].release == Version("2.8.3")


def test_a_torch_newer_than_the_matrix_knows_pages_for_is_looked_for_first() -> None:
    known = next(page for page in pages() if "torch-2.12.0+cu126" in page)
    name = "torch_scatter-2.1.2+pt214cu126-cp312-cp312-linux_x86_64.whl"
    shop = {**pages(), known.replace("2.12.0", "2.14.0"): (name,)}
    chosen = best(question(H100, "torch-scatter", shop=shop))
    assert (chosen.candidate.label[:10], chosen.python.short) == ("torch 2.14", "3.12")


def test_all_projects_are_served_by_one_torch() -> None:
    chosen = best(question(H100, "torch-scatter", "flash-attn", "torchvision"))
    assert chosen.candidate.torch == Version("2.8.0")
    assert {item.file.name for item in chosen.companions} == {"torchvision", "torch-scatter", "flash-attn"}


def test_files_are_pinned_by_their_addresses_and_nothing_else_is_looked_up_there() -> None:
    made = plan(question(H100, "flash-attn>=2", "numpy"))
    assert made.requirements == ("numpy",)
    pin = Requirement(next(pin for pin in made.pins if pin.startswith("flash-attn")))
    assert pin.url
    assert pin.url.endswith("-linux_x86_64.whl")
    assert not [find_link for find_link in made.sources.find_links if "github" in find_link]
    assert len(made.pins) == 2


def test_the_plan_says_why_no_newer_torch_is_taken_and_what_it_would_take() -> None:
    made = plan(question(H100, "flash-attn"))
    (because,) = [reason.text for reason in made.why if "is used, not" in reason.text]
    lacking = "no wheel of flash-attn is known for torch 2.14.1+cu126"
    assert because == f"torch 2.8.0+cu129 is used, not torch 2.14.1+cu126: {lacking}"
    advice = " ".join(item.text for item in made.advice)
    assert "torch 2.14.1 works with flash-attn built from source: that requires `nvcc` of CUDA 12.6" in advice
    assert "mjun0812" in advice
    assert "--find-links https://github.com/" in advice


def test_a_gpu_that_is_too_old_is_the_one_reason_and_no_page_is_read() -> None:
    inputs = question({"driver": "535.183.01", "gpus": ["7.0"]}, "flash-attn")
    error = refusal(inputs)
    assert [reason.text for reason in error.because] == [
        "flash-attn needs compute capability 8.0 or newer; 7.0 is older"
    ]
    assert "source" not in " ".join(fix.text for fix in error.fixes)
    assert pages_to_read(inputs) == ()
    assert not any("flash" in listing.page for listing in inputs.listings)


def test_a_gpu_that_is_too_old_is_the_reason_though_an_index_could_not_be_read() -> None:
    old = {"driver": "535.183.01", "gpus": ["7.0"]}
    error = refusal(question(old, "flash-attn", published=Published(pytorch="down")))
    assert isinstance(error, Unsatisfiable)
    assert [reason.text for reason in error.because] == [
        "flash-attn needs compute capability 8.0 or newer; 7.0 is older"
    ]


def test_a_project_for_gpus_alone_is_refused_without_one() -> None:
    assert "flash-attn runs on GPUs only" in texts(refusal(question({}, "flash-attn")))


def test_what_pypi_has_wheels_of_is_left_to_the_resolver() -> None:
    made = plan(question(H100, "vllm"))
    assert made.requirements == ("vllm",)
    assert len(made.pins) == 1
    error = refusal(question({"driver": "535.183.01", "gpus": ["6.1"]}, "vllm"))
    assert "vllm needs compute capability 7.0" in texts(error)


def test_a_refusal_offers_the_set_without_it_and_its_source_with_nvcc() -> None:
    error = refusal(question(RTX_5090, "mmcv"))
    assert "no wheel of mmcv is known for builds of torch 2.7.0 to 2.15.0" in texts(error)
    assert [(fix.text[:35], fix.command) for fix in error.fixes] == [
        ("without mmcv it works here, with to", "gpuenv plan torch"),
        ("or build mmcv from source beside it", "gpuenv plan torch"),
    ]
    assert "`nvcc` of CUDA 13.0" in error.fixes[1].text


def test_a_refusal_names_the_nearest_torch_that_has_a_wheel() -> None:
    error = refusal(question(H100, "torch==2.6.0", "mmcv"))
    assert error.fixes[0].command == "gpuenv plan torch==2.4.1 mmcv"


def test_wheels_that_others_built_are_told_of_and_taken_only_when_named() -> None:
    error = refusal(question(H100, "torch==2.13.0", "flash-attn"))
    trust = next(fix for fix in error.fixes if "built by mjun0812" in fix.text)
    assert trust.command is not None
    links = [word for word in shlex.split(trust.command) if word.startswith("https://github.com/mjun0812")]
    assert links
    mine = IndexSource("flat", links[0], "option --find-links")
    name = "flash_attn-2.8.3+cu126torch2.13-cp312-cp312-linux_x86_64.whl"
    inputs = question(H100, "torch==2.13.0", "flash-attn")
    inputs = inputs.with_listings((listed(mine, (name,), "flash-attn"),))
    chosen = best(inputs)
    assert (chosen.companions[0].file.filename, chosen.candidate.label) == (name, "torch 2.13.0+cu126")


def test_a_wheel_of_the_user_s_own_that_tells_nothing_is_trusted() -> None:
    mine = IndexSource("flat", "https://wheels.example.com/all.html", "option --find-links")
    name = "mmcv-2.2.0-cp312-cp312-linux_x86_64.whl"
    inputs = question(H100, "mmcv").with_listings((listed(mine, (name,), "mmcv"),))
    assert best(inputs).candidate.torch == Version("2.14.1")
    pin = Requirement(plan(inputs).pins[1])
    assert pin.url == f"https://wheels.example.com/{name}"


@pytest.mark.slow
def test_a_page_that_can_not_be_read_is_named() -> None:
    inputs = question(H100, "torch-scatter", shop={})
    down = [
        replace(listing, problem="timed out") if "pyg" in listing.page else listing
        for listing in inputs.listings
    ]
    result = replace(inputs, listings=()).with_listings(tuple(down))
    assert "could not be read (timed out)" in texts(refusal(result))
    assert pages_to_read(result) == ()


@pytest.mark.parametrize(
    "word",
    [
        "flash-attn; sys_platform == 'win32'",
        "flash-attn; python_version < '3.10'",
        "flash-attn @ https://wheels.example.com/flash_attn-2.8.3-cp312-cp312-linux_x86_64.whl",
    ],
)
def test_what_is_not_asked_of_this_system_or_by_address_decides_nothing(word: str) -> None:
    inputs = question(H100, word)
    assert inputs.request.extensions == ()
    assert best(inputs).candidate.torch == Version("2.14.1")


def test_a_marker_that_holds_for_every_python_changes_nothing() -> None:
    inputs = question(H100, "Flash_Attn; sys_platform == 'linux'")
    assert best(inputs).candidate.torch == Version("2.8.0")


@pytest.mark.slow
@pytest.mark.parametrize(
    "shop", every(2, ({}, dict.fromkeys(pages(), ("flash_attn-1.whl", "x.txt", "-.whl"))))
)
def test_pages_without_a_wheel_end_in_a_refusal(shop: Pages) -> None:
    for project in PROJECTS:
        assert "no wheel" in texts(refusal(question(H100, project, shop=shop)))


@pytest.mark.slow
@pytest.mark.parametrize("folder", ["a b", "a\nb", "a\u00a0b", "\u202e"])
def test_an_address_that_would_end_early_is_passed_over(folder: str) -> None:
    mine = IndexSource("flat", f"https://wheels.example.com/{folder}/all.html", "option --find-links")
    name = "mmcv-2.2.0-cp312-cp312-linux_x86_64.whl"
    inputs = question(H100, "mmcv").with_listings((listed(mine, (name,), "mmcv"),))
    assert best(inputs).candidate.torch == Version("2.4.1")


def test_every_local_version_on_the_pages_can_be_read() -> None:
    for names in pages().values():
        for name in names:
            local = name.split("-")[1].partition("+")[2].lower()
            assert not local or parse_binding(local)
