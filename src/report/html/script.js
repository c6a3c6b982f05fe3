"use strict";
// The heat map for other axes than the two it was made with, and evidence that opens when it is linked to.
const worst = ["corrupt", "wrong-before", "crash", "device-lost", "hang", "build-failed", "harness-error", "untestable", "clean", "none"];
const make = (tag, text, attributes) => {
  const node = document.createElement(tag);
  if (text !== undefined) node.textContent = text;
  for (const [name, value] of Object.entries(attributes || {})) node.setAttribute(name, value);
  return node;
};
const order = (a, b) => a.localeCompare(b, undefined, { numeric: true });
for (const panel of document.querySelectorAll("[data-heat]")) {
  const arms = JSON.parse(panel.querySelector("script[type='application/json']").textContent);
  const [down, across] = panel.querySelectorAll("select");
  const draw = () => {
    const of = (arm, axis) => arm.axes[axis] ?? "–";
    const values = (axis) => [...new Set(arms.map((arm) => of(arm, axis)))].sort(order);
    const table = make("table", undefined, { class: "heat" });
    const head = table.createTHead().insertRow();
    head.append(make("th", `${down.value} ↓  ${across.value} →`, { scope: "col" }));
    for (const value of values(across.value)) head.append(make("th", value, { scope: "col" }));
    const body = table.createTBody();
    for (const left of values(down.value)) {
      const row = body.insertRow();
      row.append(make("th", left, { scope: "row" }));
      for (const top of values(across.value)) {
        const here = arms.filter((arm) => of(arm, down.value) === left && of(arm, across.value) === top);
        const cell = row.insertCell();
        if (here.length === 0) { cell.append(make("span", "–", { class: "v none" })); continue; }
        here.sort((a, b) => worst.indexOf(a.verdict) - worst.indexOf(b.verdict));
        const word = here[0].verdict;
        const same = here.filter((arm) => arm.verdict === word).length;
        const link = make("a", undefined, { href: "#" + here[0].anchor });
        link.append(make("span", `${word === "none" ? "not run" : word} ${same}/${here.length}`, { class: "v " + word }));
        cell.append(link);
      }
    }
    panel.querySelector("table").replaceWith(table);
  };
  for (const select of [down, across]) select.addEventListener("change", draw);
  panel.querySelector(".choose").hidden = false;
}
const reveal = () => {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  for (let node = target; node; node = node.parentElement) if (node.tagName === "DETAILS") node.open = true;
  if (target) target.scrollIntoView();
};
addEventListener("hashchange", reveal);
reveal();
