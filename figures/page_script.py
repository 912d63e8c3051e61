"""The script of every page: filters, whose state is in the address, and links into folded parts.

Without the script everything is shown, and the forms of the filters are not. An address holds a
filter as ``#~answer=holds&design=mq``, only where it differs from the default, and otherwise the id
of a part of the page.
"""

SCRIPT = """
"use strict";
(() => {
  const LONGEST = 200;
  const controls = [...document.querySelectorAll("select[data-filter]")];
  const items = [...document.querySelectorAll(
    "[data-answer], [data-answers], [data-designs], [data-setting], [data-paper]")];

  function matches(item, control) {
    const own = item.dataset[control.dataset.filter];
    return !control.value || own === undefined || own.split("|").includes(control.value);
  }

  function show() {
    for (const item of items) {
      item.hidden = !controls.every((control) => matches(item, control));
    }
    for (const group of document.querySelectorAll(".group")) {
      const own = [...group.querySelectorAll("li[data-answer]")];
      group.hidden = own.length > 0 && own.every((item) => item.hidden);
    }
    for (const count of document.querySelectorAll("[data-count]")) {
      const own = [...document.querySelectorAll(count.dataset.count)];
      count.textContent = `${own.filter((item) => !item.hidden).length} of ${own.length} shown`;
    }
  }

  function write() {
    const state = new URLSearchParams();
    for (const control of controls) {
      if (control.value) { state.set(control.name, control.value); }
    }
    const text = state.toString();
    const address = text && text.length < LONGEST ? `#~${text}` : "#";
    history.replaceState(null, "", address);
  }

  function reset(state) {
    for (const control of controls) {
      const wanted = state.get(control.name) || "";
      const known = [...control.options].some((option) => option.value === wanted);
      control.value = known ? wanted : "";
    }
    show();
  }

  function read() {
    const fragment = location.hash.slice(1);
    if (fragment.startsWith("~")) {
      reset(new URLSearchParams(fragment.slice(1)));
      return;
    }
    const target = fragment && document.getElementById(decodeURIComponent(fragment));
    if (!target) { return; }
    if (target.closest("[hidden]")) { reset(new URLSearchParams()); }
    for (let part = target; part; part = part.parentElement) {
      if (part.tagName === "DETAILS") { part.open = true; }
    }
    target.scrollIntoView();
  }

  for (const form of document.querySelectorAll("form.filter")) {
    form.hidden = false;
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("reset", () => { reset(new URLSearchParams()); write(); });
  }
  for (const control of controls) {
    control.addEventListener("change", () => { show(); write(); });
  }
  window.addEventListener("hashchange", read);
  show();
  read();
})();
"""
