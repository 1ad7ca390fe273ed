// Local times, a filter, and the keys of a listing, which also works without this script.

// Times in the zone of the reader; exact times and sizes on hover.
parts.push(() => {
    const two = number => String(number).padStart(2, "0");
    const exact = new Intl.DateTimeFormat(undefined, {dateStyle: "full", timeStyle: "long"});
    for (const time of document.querySelectorAll(".listing time")) {
        const moment = new Date(time.dateTime.replace(" ", "T"));
        const day = [moment.getFullYear(), two(moment.getMonth() + 1), two(moment.getDate())].join("-");
        time.textContent = `${day} ${two(moment.getHours())}:${two(moment.getMinutes())}`;
        time.addEventListener("pointerenter", () => { time.title = exact.format(moment); }, {once: true});
    }
    for (const size of document.querySelectorAll(".listing data")) {
        size.addEventListener("pointerenter", () => {
            size.title = `${Number(size.value).toLocaleString()} byte${size.value === "1" ? "" : "s"}`;
        }, {once: true});
    }
    document.querySelector(".zone")?.remove();
});

// A filter while the user types; Enter searches all pages.
parts.push(() => {
    const field = document.querySelector(".filter");
    const matches = document.getElementById("matches");
    if (!field?.form || !matches) return;
    const searched = [...matches.childNodes];
    const begun = field.defaultValue;
    const isPart = "part" in field.dataset;
    field.placeholder = isPart ? "Filter this page" : "Filter by name";
    field.setAttribute("aria-label", isPart ? "Filter by name, on this page" : "Filter by name");
    const lower = text => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
    const names = rows.map(row => lower(nameOf(row)));
    let timer = 0;
    const say = (shown, text) => {
        if (!text || text === begun) return matches.replaceChildren(...searched);
        const count = shown ? `${shown} of ${rows.length} shown` : "Nothing matches";
        matches.textContent = isPart ? `${count} on this page. ` : `${count}.`;
        if (isPart) {
            const url = new URL(location.pathname, location.origin);
            for (const [name, value] of new FormData(field.form)) url.searchParams.append(name, value);
            matches.append(make("a", {href: url, textContent: `Search all names that begin with “${text}”`}));
        }
    };
    const filter = () => {
        const text = field.value.trim();
        const words = text === begun ? [] : lower(text).split(/\s+/).filter(Boolean);
        let shown = 0;
        rows.forEach((row, number) => {
            row.hidden = !words.every(word => names[number].includes(word));
            shown += !row.hidden;
        });
        clearTimeout(timer);
        timer = setTimeout(say, 250, shown, text);
    };
    field.addEventListener("input", filter);
    field.form.addEventListener("submit", event => { if (!isPart) event.preventDefault(); });
    field.addEventListener("keydown", event => {
        if (event.key === "Escape" && field.value) { field.value = ""; filter(); event.preventDefault(); }
    });
    if (field.value !== begun) filter();
});

const KEYS = [["/", "Filter by name"], ["↓ ↑", "Go to the next or previous entry"], ["Enter", "Open it"], ["Space", "Preview it"],
    ["x", "Choose it"], ["Delete", "Delete it"], ["?", "Show these keys"]];

// Keys without a modifier can be turned off (WCAG 2.1.4).
const areOff = () => Boolean(memory(kept => kept.getItem("keys off")));

function showKeys() {
    const list = make("dl", {className: "keys"});
    for (const [key, text] of KEYS) list.append(make("dt", {}, make("kbd", {textContent: key})), make("dd", {textContent: text}));
    const use = make("input", {type: "checkbox", checked: !areOff()});
    use.addEventListener("change", () => memory(kept => use.checked ? kept.removeItem("keys off") : kept.setItem("keys off", "1")));
    ask("Keys", make("div", {}, list, make("label", {}, use, " Use / and ?")), ["", "Close"]);
}

parts.push(() => {
    if (table()) document.querySelector(".tools")?.append(button("Keys", showKeys, "keys-button"));
});

const OF_ROWS = {
    " ": row => row.querySelector(".eye")?.click(),
    x: row => row.querySelector(".choice")?.click(),
    Delete: row => row.querySelector(".bin")?.click(),
};
const OF_PAGE = {"?": showKeys, "/": () => document.querySelector(".filter")?.focus()};
const WAYS = {ArrowDown: 1, ArrowUp: -1};

function step(row, by) {
    const seen = rows.filter(each => !each.hidden && linkOf(each));
    const next = row ? seen[seen.indexOf(row) + by] : seen.at(by > 0 ? 0 : -1);
    if (next) linkOf(next).focus();
    else if (row && by < 0) document.querySelector(".filter")?.focus();
}

addEventListener("keydown", event => {
    const {target, key} = event;
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    const isField = target.matches?.("input:not([type=checkbox]), select, textarea, pre");
    if (isField && !(target.matches(".filter") && key === "ArrowDown")) return;
    if (target.matches?.("button, [type=checkbox]") && key === " ") return;
    const row = target.closest?.("tbody tr:not(.parent)");
    if (WAYS[key]) step(row, WAYS[key]);
    else if (row && OF_ROWS[key]) OF_ROWS[key](row);
    else if (OF_PAGE[key] && !areOff()) OF_PAGE[key]();
    else return;
    event.preventDefault();
});
