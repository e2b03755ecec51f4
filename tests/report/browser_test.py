#!/usr/bin/env python3
"""Opens sample pages in headless Chromium, as readers do: light, dark, on a phone, on paper, by keyboard, without scripts.

    browser_test.py PROGRAM [--keep FOLDER]     PROGRAM: report_test, which writes the pages; FOLDER: screenshots stay there
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

from browser import Browser

FAILURES = []


def check(holds, what):
    if not holds:
        FAILURES.append(what)
        print(f"FAILED: {what}")


def quiet(page, name):
    check(page.console == [], f"{name}: the console is empty, not {page.console[:3]}")
    check(page.requests == [], f"{name}: nothing is asked of a network, not {page.requests[:3]}")


def tables_of(report):
    yield from report["headline"]
    for section in report["sections"]:
        yield from (part["table"] for part in section["parts"] if "table" in part)


def same_numbers(page, report):
    """What stands in tables and cards is what report.json has, and says the number behind it."""
    shown = page.evaluate("[...document.querySelectorAll('td, th[scope=row], .card dt, .card .value')].map(e => e.textContent)")
    count = 0
    for table in tables_of(report):
        for row in table["rows"]:
            for entry in row:
                text = entry["text"] if isinstance(entry, dict) else entry
                if text and table is not report["headline"][0]:
                    check(text in shown, f"a cell says {text!r}")
                if isinstance(entry, dict):
                    count += 1
                    digits, unit = re.sub("[,%]", "", text), 0.01 if "%" in text else 1.0
                    rounding = 0.5001 * unit * 10.0 ** -len(digits.partition(".")[2])
                    check(abs(unit * float(digits) - entry["value"]) <= rounding, f"{text} means {entry['value']}")
    check(count > 60, f"{count} numbers are compared")
    check([card[1] for card in page.evaluate(
        "[...document.querySelectorAll('.card')].map(c => [c.querySelector('dt').textContent, c.querySelector('.value').textContent])")]
        == [row[1]["text"] for row in report["headline"][0]["rows"]], "cards have the headline's numbers")


def well_made(page, name):
    """What screen readers and links need."""
    facts = page.evaluate("""(() => {
      const all = selector => [...document.querySelectorAll(selector)], ids = all('[id]').map(e => e.id);
      return {h1: all('h1').length, main: all('main').length, nav: all('nav[aria-label]').length, lang: document.documentElement.lang,
              twice: ids.filter((id, i) => ids.indexOf(id) !== i), scopes: all('th:not([scope])').length,
              pictures: all('svg[role=img]').length, unnamed: all('svg[role=img]').filter(e => !(e.getAttribute('aria-label') ||
                document.getElementById((e.getAttribute('aria-labelledby') || ' ').split(' ')[0]))).length,
              links: all('.toc a').filter(a => !document.getElementById(a.hash.slice(1))).length, scripts: all('script').length,
              foreign: all('img, iframe, object, embed, link, base, form').length,
              handlers: all('*').filter(e => e.getAttributeNames().some(n => n.startsWith('on') || n === 'style' && e.closest('svg'))).length};
    })()""")
    expected = {"h1": 1, "main": 1, "nav": 1, "lang": "en", "twice": [], "scopes": 0, "unnamed": 0, "links": 0, "scripts": 1,
                "foreign": 0, "handlers": 0}
    for key, value in expected.items():
        check(facts[key] == value, f"{name}: {key} is {value}, not {facts[key]}")
    check(facts["pictures"] > 5, f"{name}: has pictures")


CONTRAST = """(() => {
  const parse = colour => colour.match(/[\\d.]+/g).slice(0, 3).map(c => { c /= 255; return c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4; });
  const light = colour => { const [r, g, b] = parse(colour); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const page = light(getComputedStyle(document.body).backgroundColor);
  const ratio = colour => { const one = light(colour) + 0.05, two = page + 0.05; return Math.max(one, two) / Math.min(one, two); };
  return {page, least: Math.min(...[...document.querySelectorAll('h1, p, li a, figcaption, dt, dd, td, th, b')]
    .map(e => ratio(getComputedStyle(e).color)), ...[...document.querySelectorAll('.figure text')].map(e => ratio(getComputedStyle(e).fill)))};
})()"""


# Labels of axes and legends that touch each other, or leave their picture.
TOUCHING = """[...document.querySelectorAll('svg.figure')].filter(svg => svg.getBoundingClientRect().width).flatMap(svg => {
  const outer = svg.getBoundingClientRect();
  const texts = [...svg.querySelectorAll('text')].filter(t => t.textContent).map(t => [t.textContent, t.getBoundingClientRect()]);
  const found = texts.filter(([, b]) => b.left < outer.left - 3 || b.right > outer.right + 3 || b.bottom > outer.bottom + 1).map(([t]) => t);
  for (const [i, [text, a]] of texts.entries()) {
    for (const [other, b] of texts.slice(i + 1)) {
      if (a.left + 1 < b.right && b.left + 1 < a.right && a.top + 4 < b.bottom && b.top + 4 < a.bottom) found.push(text + ' / ' + other);
    }
  }
  return found;
})"""


def looks(browser, folder, report):
    page = browser.open(folder / "sample.html")
    quiet(page, "light")
    well_made(page, "sample")
    same_numbers(page, report)
    for section in report["sections"]:
        check(page.evaluate(f"document.getElementById({json.dumps(section['id'])}).querySelector('h2').textContent") == section["title"],
              f"section {section['id']} is there")
    check(page.evaluate(TOUCHING) == [], f"labels do not touch: {page.evaluate(TOUCHING)}")
    light = page.evaluate(CONTRAST)
    check(light["page"] > 0.8 and light["least"] >= 4.5, f"light: contrast {light}")
    page.screenshot(folder / "light.png")

    page = browser.open(folder / "sample.html", dark=True)
    quiet(page, "dark")
    dark = page.evaluate(CONTRAST)
    check(dark["page"] < 0.1 and dark["least"] >= 4.5, f"dark: contrast {dark}")
    page.screenshot(folder / "dark.png")
    page.media(dark=True, kind="print")
    paper = page.evaluate("[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.querySelector('.toc')).display]")
    check(paper == ["rgb(255, 255, 255)", "none"], f"print: light, without contents, not {paper}")
    page.pdf(folder / "paper.pdf")
    check((folder / "paper.pdf").stat().st_size > 20000, "print: makes a PDF")

    page = browser.open(folder / "sample.html", width=390, height=844, phone=True)
    quiet(page, "phone")
    size = page.evaluate("""(() => { const svg = document.querySelector('svg.narrow'), wide = document.querySelector('svg.wide');
      return {across: document.documentElement.scrollWidth, letters: 12 * svg.getBoundingClientRect().width / svg.viewBox.baseVal.width,
              wide: wide.getBoundingClientRect().width}; })()""")
    check(size["across"] == 390, f"phone: nothing is wider than the screen: {size}")
    check(page.evaluate(TOUCHING) == [], f"phone: labels do not touch: {page.evaluate(TOUCHING)}")
    check(size["letters"] >= 11 and size["wide"] == 0, f"phone: labels are legible: {size}")
    page.screenshot(folder / "phone.png")

    page = browser.open(folder / "sample.html", scripts=False)
    quiet(page, "without scripts")
    for title in (section["title"] for section in report["sections"]):
        check(title in page.text, f"without scripts: {title}")
    check(page.text.count("<svg") > 10 and "All 60 rows" in page.text, "without scripts: pictures and tables are there")


def handling(browser, folder, report):
    """Pointer and keyboard."""
    page = browser.open(folder / "sample.html", height=1000)
    page.press("Tab")
    check(page.evaluate("document.activeElement.className") == "skip", "the first stop of Tab skips to the report")
    page.press("Enter")
    check(page.evaluate("location.hash") == "#content", "Enter goes there")

    series = next(part["figure"] for section in report["sections"] for part in section["parts"]
                  if part.get("figure", {}).get("id") == "series")
    page.evaluate("document.documentElement.style.scrollBehavior = 'auto'; document.getElementById('series').scrollIntoView()")
    left, top, width, height = page.evaluate("""(() => { const svg = document.querySelector('#series svg.wide'), plot = svg.querySelector('.plot');
      const box = svg.getBoundingClientRect(), scale = box.width / svg.viewBox.baseVal.width;
      const [x, y, w, h] = ['x', 'y', 'width', 'height'].map(name => scale * plot.getAttribute(name));
      return [box.left + x, box.top + y, w, h]; })()""")
    shown = "document.querySelector('#series .tip').hidden ? '' : document.querySelector('#series .tip').textContent"
    box = "document.querySelector('#series svg.wide .plot').getAttribute('viewBox')"
    whole = page.evaluate(box)
    page.mouse("mouseMoved", left + 0.3 * width, top + 0.45 * height)
    tip = page.evaluate(shown)
    name, date, value = tip.split("\n")
    layer = next(layer for layer in series["layers"] if layer["name"] == name)
    days = (1e-9 + page.evaluate(f"Date.parse('{date.removeprefix('date: ')}')")) / 86400e3
    said = float(value.removeprefix("pm25 (ug/m3): "))
    real = layer["y"][layer["x"].index(round(days))]
    check(abs(said - real) < 1e-3, f"the pointer shows the number: {tip!r}, {real}")

    page.mouse("mousePressed", left + 0.3 * width, top + 0.4 * height, button="left", clickCount=1)
    page.mouse("mouseMoved", left + 0.4 * width, top + 0.4 * height, button="left")
    page.mouse("mouseMoved", left + 0.6 * width, top + 0.4 * height, button="left")
    page.mouse("mouseReleased", left + 0.6 * width, top + 0.4 * height, button="left", clickCount=1)
    start, _, extent, _ = map(float, page.evaluate(box).split())
    full = float(whole.split()[2])
    check(abs(start - 0.3 * full) < 2 and abs(extent - 0.3 * full) < 2, f"dragging chooses a part: {start} {extent} of {full}")
    ticks = page.evaluate("[...document.querySelectorAll('#series svg.wide .x-axis text')].map(t => t.textContent)")
    check(len(ticks) >= 2 and all("2019" in tick for tick in ticks), f"the part has an axis of its own: {ticks}")

    page.evaluate("document.querySelector('#series svg.wide').focus()")
    page.press("Escape")
    check(page.evaluate(box) == whole, "Escape shows all again")
    page.press("+")
    check(abs(float(page.evaluate(box).split()[2]) - full / 2) < 1, "+ shows half")
    page.press("-")
    check(page.evaluate(box) == whole, "- shows all")
    page.press("ArrowRight")
    first = page.evaluate(shown)
    page.press("ArrowRight")
    check(first.startswith(("observed", "predicted")) and page.evaluate(shown) not in ("", first), f"arrows go from mark to mark: {first!r}")
    check(page.evaluate("document.querySelector('[role=status]').textContent") != "", "what they show is said aloud")
    page.evaluate("document.querySelector('#importance svg.wide').focus()")
    page.press("ArrowRight")
    told = page.evaluate("document.querySelector('#importance .tip').textContent")
    check("4.1" in told or "-0.05" in told or "2.7" in told, f"bars tell their numbers: {told!r}")
    page.evaluate("document.querySelector('button.copy').click()")
    quiet(page, "handling")


def hostile(browser, folder):
    page = browser.open(folder / "hostile.html")
    quiet(page, "hostile")
    well_made(page, "hostile")
    page.evaluate("for (const svg of document.querySelectorAll('svg.wide')) { svg.focus(); "
                  "svg.dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowRight'})); }")
    check(page.evaluate("document.title") != "owned", "hostile: nothing has run")
    check(page.evaluate("document.documentElement.scrollWidth") <= 1280, "hostile: long words do not widen the page")
    check("&lt;script&gt;document.title = 'owned'&lt;/script&gt;" in page.text, "hostile: scripts are shown as text")
    page.screenshot(folder / "hostile.png", whole=False)
    # Even markup that came into the page would not run.
    page.evaluate("""(() => { const script = document.createElement('script'); script.textContent = "document.title = 'owned'";
      document.body.append(script); const part = document.createElement('div');
      part.innerHTML = "<img src='x' onerror=\\"document.title = 'owned'\\">"; document.body.append(part); })()""")
    check(page.evaluate("new Promise(done => setTimeout(() => done(document.title), 300))") != "owned", "the policy stops scripts")
    check(any("Content Security Policy" in line for line in page.console), "the policy says so")


def pictures(folder):
    files = sorted(folder.glob("*.svg"))
    check(len(files) == 7, f"7 pictures are written, not {len(files)}")
    for file in files:
        root = xml.etree.ElementTree.fromstring(file.read_text())
        check(root.tag == "{http://www.w3.org/2000/svg}svg", f"{file.name} is SVG")
        check(file.with_suffix(".png").read_bytes().startswith(b"\x89PNG"), f"{file.name} is drawn as PNG")
        check("var(" not in file.read_text(), f"{file.name} has literal colours")


def main():
    with tempfile.TemporaryDirectory(prefix="ick_report_") as scratch:
        folder = pathlib.Path(scratch)
        if "--keep" in sys.argv:
            folder = pathlib.Path(sys.argv[sys.argv.index("--keep") + 1])
            folder.mkdir(parents=True, exist_ok=True)
        subprocess.run([sys.argv[1], "--gtest_filter=Sample.IsWritten"], check=True, stdout=subprocess.DEVNULL,
                       env={**os.environ, "ICK_REPORT_SAMPLES": str(folder)})
        report = json.loads((folder / "sample.json").read_text())
        pictures(folder)
        with Browser() as browser:
            looks(browser, folder, report)
            handling(browser, folder, report)
            hostile(browser, folder)
    print(f"{len(FAILURES)} failures")
    return 1 if FAILURES else 0


if __name__ == "__main__":
    sys.exit(main())
