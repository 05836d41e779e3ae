"""Build the site, English and Chinese, from docs/ and the READMEs: `nox -s docs`.

The pages are laid out in a folder for each language, their links turned from the repository's files to the
site's pages; Material for MkDocs builds each, strictly, and every link of the result is followed. What a page
loads is on the site: no font, script or picture of another host. It can be read from a disk, with its search.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from web_site import contents, links, places

ROOT = Path(__file__).parents[1]
ADDRESS = "GPUENV_SITE_URL"  # a variable: where the site will be, which the canonical links name
_NAMES = {"en": "English", "zh": "中文"}


def stage(folder: Path) -> None:
    """Lay out the pages of each language in a folder of it, with its mkdocs.yml beside its `docs`."""
    known = {language: places.places(ROOT, language) for language in places.LANGUAGES}
    index = (ROOT / places.INDEX).read_text(encoding="utf-8")
    for language, files in known.items():
        listed = contents.read_contents(index, language)
        for source, path in files.items():
            target = folder / language / "docs" / path
            target.parent.mkdir(parents=True, exist_ok=True)
            if source == places.INDEX:
                text = contents.render_index(listed, language)
            elif source.endswith(".md"):
                text = contents.introduce((ROOT / source).read_text(encoding="utf-8"), source, language)
            elif source.endswith(places.TABLE):
                continue
            else:
                shutil.copyfile(ROOT / source, target)
                continue
            target.write_text(places.turn_links(text, source, language, known), encoding="utf-8")
        for name in ("javascripts", "stylesheets"):
            shutil.copytree(ROOT / places.OF_THE_SITE / name, folder / language / "docs" / name)
        nav = contents.navigation(listed, language, files)
        configuration = json.dumps(_configure(language, known) | {"nav": nav})  # which is YAML
        (folder / language / "mkdocs.yml").write_text(configuration, encoding="utf-8")


def _configure(language: str, known: dict[str, dict[str, str]]) -> dict[str, object]:
    own = set(known[language].values())
    others = {path for of, files in known.items() if of != language for path in files.values()}
    up = "../" * places.ROOTS[language].count("/")
    roots = {of: up + root for of, root in places.ROOTS.items()} | {language: ""}
    languages = [{"name": name, "lang": of, "link": roots[of]} for of, name in _NAMES.items()]
    alone = [path.replace(".md", ".html") for path in sorted(own - others) if path.endswith(".md")]
    return {
        "INHERIT": str(ROOT / places.OF_THE_SITE / "mkdocs.yml"),
        "site_url": address + places.ROOTS[language] if (address := os.environ.get(ADDRESS)) else "",
        "docs_dir": "docs",
        "theme": {"language": language, "custom_dir": str(ROOT / places.OF_THE_SITE / "overrides")},
        "plugins": {"search": {"lang": language}},
        "extra": {"languages": languages, "of_this_language_alone": alone},
    }


def build(site: Path) -> list[str]:
    """Build the site into a folder, in place of one that is there, and return what is broken in it."""
    if (site / "sitemap.xml").is_file():
        shutil.rmtree(site)
    elif site.is_dir() and any(site.iterdir()):
        raise SystemExit(f"{site} is not empty and not the site")
    with tempfile.TemporaryDirectory() as temporary:
        staged = Path(temporary)
        stage(staged)
        table = staged / "en" / "docs" / places.TABLE
        subprocess.run([sys.executable, "-m", "gpuenv", "matrix", "show", "--html", str(table)], check=True)
        shutil.copyfile(table, staged / "zh" / "docs" / places.TABLE)
        for language in places.LANGUAGES:  # English first, whose folder holds the other
            into = site.resolve() / places.ROOTS[language]
            configuration = str(staged / language / "mkdocs.yml")
            words = ("build", "--strict", "--quiet", "--config-file", configuration, "--site-dir", str(into))
            # without the theme's word on what comes after MkDocs: docs/decisions.md has it
            quiet = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
            subprocess.run([sys.executable, "-m", "mkdocs", *words], check=True, env=quiet)
    return list(links.broken(site))


def main(words: list[str]) -> int:
    """Build, and print each broken link; the exit status says whether there was one."""
    site = Path(words[0] if words else "site")
    wrong = build(site)
    print("\n".join(wrong) if wrong else f"{site / 'index.html'}: {len(list(site.rglob('*.html')))} pages")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
