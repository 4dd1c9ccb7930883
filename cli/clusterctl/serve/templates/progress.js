"use strict";
// Follows runs in progress. Text goes in as text, never as markup.
(() => {
  const list = document.getElementById("now");
  const item = (run) => {
    const link = document.createElement("a");
    link.href = "/runs/" + encodeURIComponent(run.id);
    link.textContent = run.id;
    const phases = Object.entries(run.phases).map(([phase, number]) => `${number} ${phase || "not begun"}`);
    const made = document.createElement("li");
    made.className = "notice";
    made.append(link, ` ${run.verb} ${run.target} by ${run.operator}: ${phases.join(", ")}`);
    return made;
  };
  const events = new EventSource(list.dataset.events);
  events.addEventListener("progress", (event) => list.replaceChildren(...JSON.parse(event.data).runs.map(item)));
})();
