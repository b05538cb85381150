"""A browser without a window, for the pages of reports: Chromium, driven by its driver."""

import json
import os
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

if TYPE_CHECKING:
    from selenium.webdriver import Chrome


@contextmanager
def chromium(*switches: str) -> Iterator["Chrome"]:
    """A browser with further switches; the running test is skipped without selenium, and without a browser, which CI must have."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    paths = [shutil.which(name) for name in ("chromium", "chromedriver")]
    if None in paths:
        reason = "chromium and chromedriver are not installed"
        if os.environ.get("CI") == "true":
            pytest.fail(f"{reason}; CI must have them")
        pytest.skip(reason)
    options = webdriver.ChromeOptions()
    options.binary_location = paths[0]
    for switch in ("--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1280,1000", *switches):
        options.add_argument(switch)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(paths[1]))
    try:
        driver.set_script_timeout(20)
        yield driver
    finally:
        driver.quit()


def opened(driver: "Chrome", page: bytes, folder: Path) -> None:
    """Opens a page from the disk, and waits until its model has answered."""
    path = folder / "report.html"
    path.write_bytes(page)
    driver.get(path.as_uri())
    driver.execute_async_script(
        """
        const done = arguments[0];
        const wait = () => {
          const told = document.getElementById("run-digest");
          if (!told || told.dataset.state) done(); else setTimeout(wait, 10);
        };
        wait();
        """
    )


def shown_values(driver: "Chrome") -> list[str]:
    """The values of the model's answer, as they are shown."""
    found: list[str] = driver.execute_script(
        "return [...document.querySelectorAll('.bars .number')].map((cell) => cell.textContent)"
    )
    return found


def waited_for(driver: "Chrome", values: Sequence[float]) -> bool:
    """True if the model's answer becomes these values, to four digits, within some seconds."""
    for _ in range(500):
        shown = [float(each) for each in shown_values(driver)]
        if len(shown) == len(values) and np.allclose(shown, values, rtol=1e-4, atol=0):
            return True
        time.sleep(0.02)
    return False


def complaints(driver: "Chrome") -> list[dict[str, Any]]:
    """What the console was told, and the addresses that were asked for something, but for the page itself."""
    messages = [json.loads(each["message"])["message"] for each in _log(driver, "performance")]
    asked = [each["params"]["request"]["url"] for each in messages if each["method"] == "Network.requestWillBeSent"]
    others = [{"asked": url} for url in asked if not url.startswith("file:") or not url.endswith("/report.html")]
    return [*_log(driver, "browser"), *others]


def _log(driver: "Chrome", kind: str) -> list[dict[str, Any]]:
    return list(driver.get_log(kind))  # type: ignore[no-untyped-call]  # selenium's own
