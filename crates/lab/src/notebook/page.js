"use strict";
// A table as CSV (RFC 4180).
function csv(table) {
  const cell = (one) => '"' + one.innerText.trim().replaceAll('"', '""') + '"';
  const row = (one) => [...one.cells].map(cell).join(",");
  return [...table.rows].map(row).join("\r\n") + "\r\n";
}
function copied(button, text) {
  const done = () => { button.textContent = "copied"; };
  const area = document.createElement("textarea");
  const byHand = () => {
    area.value = text;
    button.after(area);
    area.select();
    button.textContent = "press Ctrl+C";
  };
  if (navigator.clipboard) navigator.clipboard.writeText(text).then(done, byHand);
  else byHand();
}
for (const button of document.querySelectorAll("button.csv")) {
  const table = button.parentElement.querySelector("table");
  button.addEventListener("click", () => copied(button, csv(table)));
}
// What is folded is printed, too.
addEventListener("beforeprint", () => {
  for (const one of document.querySelectorAll("details")) one.open = true;
});
// What tests ask: figures that are seen, and what was asked of a network.
addEventListener("load", () => {
  const seen = [...document.querySelectorAll("figure svg")].filter((svg) => {
    const box = svg.getBoundingClientRect();
    return box.width > 100 && box.height > 100;
  });
  const root = document.documentElement;
  root.dataset.figures = seen.length;
  root.dataset.requests = performance.getEntriesByType("resource").length;
  root.dataset.rows = csv(document.querySelector("table") || document.createElement("table")).split("\r\n").length - 2;
});
