"""The page for people, as it is sent; tests/browser/test_service_page.py has it in a browser."""

import base64
import hashlib
import re

from goalbound.serve.service.page import page
from tests.support.services import asked
from tests.support.stores import open_store


def test_a_browser_may_run_nothing_but_the_script_of_the_page(tmp_path):
    with open_store(tmp_path / "store") as store:
        answer = asked(store, lambda client: client.get("/"))
    text, policy = page()
    assert answer.text == text
    assert answer.headers["content-security-policy"] == policy
    script = re.search(r"<script>(.*?)</script>", text, re.DOTALL)[1].encode()
    assert base64.b64encode(hashlib.sha256(script).digest()).decode() in policy
    assert "unsafe" not in policy


def test_the_page_asks_nobody_else_and_makes_no_markup_of_data():
    text = page()[0]
    assert not re.findall(r"https?://|innerHTML|insertAdjacentHTML|document\.write|eval\(", text)
    assert not re.findall(r"\son\w+=|\sstyle=", text)  # what the policy would refuse
