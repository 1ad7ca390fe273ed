// Updates the live parts of the page while it is visible and not paused.
"use strict";

const EVERY = 2000; // milliseconds
const button = document.getElementById("pause");
let paused = false;

function isBusy(part) {
  const selection = document.getSelection();
  const selecting = selection && !selection.isCollapsed && part.contains(selection.anchorNode);
  // A button keeps its meaning while the pointer is on its way to it.
  const aiming = part.querySelector("form") && part.matches(":hover");
  return selecting || aiming || part.contains(document.activeElement);
}

function update(part, fresh) {
  if (part.innerHTML === fresh.innerHTML || isBusy(part)) return;
  for (const details of part.querySelectorAll("details[id]")) {
    const same = fresh.querySelector(`#${details.id}`);
    if (same) same.open = details.open;
  }
  part.replaceChildren(...document.importNode(fresh, true).childNodes);
}

async function refresh() {
  if (paused || document.hidden) return;
  try {
    const answer = await fetch("./", { headers: { Accept: "text/html" } });
    if (!answer.ok) throw new Error(String(answer.status));
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    for (const part of document.querySelectorAll("[data-live]")) {
      const fresh = page.getElementById(part.id);
      if (fresh) update(part, fresh);
    }
    document.title = page.title;
    document.body.classList.remove("stale");
  } catch {
    document.body.classList.add("stale");
    const pill = document.createElement("span");
    pill.className = "pill bad";
    pill.textContent = "No answer";
    document.getElementById("state").replaceChildren(pill);
  }
}

button.hidden = false;
button.addEventListener("click", () => {
  paused = !paused;
  button.textContent = paused ? "Resume updates" : "Pause updates";
  refresh();
});
document.addEventListener("visibilitychange", refresh);
setInterval(refresh, EVERY);
