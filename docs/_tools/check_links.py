"""Check the built site: every internal link leads to a page and an anchor, and no page loads anything from outside.

python docs/_tools/check_links.py build/site
"""

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

LOADING = {"src", "srcset", "data", "poster"}  # attributes whose address a browser asks for when it opens the page
IN_STYLES = re.compile(r"url\(\s*['\"]?([^'\")]+)|@import\s+['\"]([^'\"]+)")


class Page(HTMLParser):
    """The anchors, the links and the loaded addresses of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        """Note what a tag names, links to and loads."""
        for name, value in attributes:
            if not value:
                continue
            if name == "id" or (tag == "a" and name == "name"):
                self.anchors.add(value)
            elif name == "href" and tag in ("a", "area"):
                self.links.append(value)
            elif name in LOADING or (name == "href" and tag in ("link", "image", "use")):
                self.loaded.append(value)


class Problem(NamedTuple):
    """A page or style sheet, and what is wrong with one of its addresses."""

    file: str
    address: str
    reason: str


def check_site(folder: Path) -> list[Problem]:
    """Return what is wrong with the links and the loaded addresses of all pages of a folder."""
    files = [path for path in sorted(folder.rglob("*.html")) if "_static" not in path.parts]  # there are templates
    pages = {path.resolve(): Page(path.read_text(encoding="utf-8")) for path in files}
    problems = []
    for path, page in pages.items():
        name = path.relative_to(folder.resolve()).as_posix()
        problems += [Problem(name, link, why) for link in page.links if (why := check_link(path, link, pages))]
        problems += [Problem(name, address, why) for address in page.loaded if (why := check_loaded(path, address))]
    for path in sorted(folder.rglob("*.css")):
        addresses = [first or second for first, second in IN_STYLES.findall(path.read_text(encoding="utf-8"))]
        name = path.relative_to(folder).as_posix()
        problems += [Problem(name, each, why) for each in addresses if (why := check_loaded(path.resolve(), each))]
    return problems


def check_link(path: Path, link: str, pages: dict[Path, Page]) -> str:
    """Return why an internal link leads nowhere, or an empty string."""
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return ""
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if not target.is_file():
        return "there is no such file"
    anchor = unquote(parts.fragment)
    if anchor and target in pages and anchor not in pages[target].anchors:
        return "the page has no such anchor"
    return ""


def check_loaded(path: Path, address: str) -> str:
    """Return why an address that a browser loads is wrong, or an empty string."""
    parts = urlsplit(address)
    if parts.scheme == "data" or not (parts.netloc or parts.path):
        return ""
    if parts.scheme or parts.netloc:
        return "it is outside of the site"
    return "" if (path.parent / unquote(parts.path)).is_file() else "there is no such file"


def main() -> None:
    """Print the problems; the exit status is 1 if there are any."""
    folder = Path(sys.argv[1])
    problems = check_site(folder)
    for problem in problems:
        print(f"{problem.file}: {problem.address}: {problem.reason}", file=sys.stderr)
    if not any(folder.rglob("*.html")):
        sys.exit(f"{folder} has no pages.")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
