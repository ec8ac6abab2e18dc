"""The runner of the studies: each has code, and a page that says how it is made."""

import re
import subprocess
import sys

import pytest

from aucmax_studies import ROOT
from aucmax_studies.__main__ import STUDIES


@pytest.mark.parametrize("name", STUDIES)
def test_a_study_has_code_and_a_page_that_names_it(name):
    study = STUDIES[name]
    code = study.code if study.code.endswith(".py") else f"studies/aucmax_studies/{study.code.replace('.', '/')}.py"
    assert "\ndef main(" in (ROOT / code).read_text(encoding="utf-8")
    pages = [ROOT / word for word in study.usual.split() if word.startswith("docs/")]
    assert pages
    assert all(page.exists() for page in pages)
    if name not in ("papers", "printed"):
        assert f"make study NAME={name}`" in pages[0].read_text(encoding="utf-8")


def test_the_readme_has_every_study():
    table = (ROOT / "studies" / "README.md").read_text(encoding="utf-8").partition("## ")[0]
    listed = [
        name for line in re.findall(r"^\| (`.*?) \|", table, re.MULTILINE) for name in re.findall(r"`([\w-]+)`", line)
    ]
    assert sorted(listed) == sorted(STUDIES)


def test_the_runner_lists_the_studies_and_refuses_other_names():
    def run(*arguments):
        return subprocess.run([sys.executable, "-m", "aucmax_studies", *arguments], capture_output=True, text=True)

    assert re.findall(r"^  ([\w-]+) ", run().stdout, re.MULTILINE) == list(STUDIES)
    refused = run("none")
    assert refused.returncode == 1
    assert "There is no study none" in refused.stderr
