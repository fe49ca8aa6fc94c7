"""The package as it is installed: its description, its licences."""

import re
from importlib.metadata import distribution

from scripts import ROOT

PACKAGE = distribution("agent-loop")


def test_found_d4_links_of_the_readme_lead_somewhere_from_anywhere():
    text = (ROOT / "bindings/python/README.md").read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)]+)\)", text)
    assert links
    assert [link for link in links if not link.startswith(("https://", "#"))] == []
    # Those into this repository name files that are there.
    here = [link for link in links if "/agent-loop/agent-loop/" in link]
    for link in here:
        place = re.sub(r"^https://github.com/agent-loop/agent-loop/(blob|tree)/main/|#.*$", "", link)
        assert (ROOT / place).exists(), link


def test_found_c4_licences_are_in_the_package():
    names = {path.name: path for path in PACKAGE.files if "licenses" in path.parts}
    assert {"LICENSE-MIT", "LICENSE-APACHE", "THIRD-PARTY-NOTICES.txt"} <= names.keys()
    assert "- ring " in names["THIRD-PARTY-NOTICES.txt"].read_text(encoding="utf-8")
