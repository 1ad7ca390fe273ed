// Local times, a filter, previews and deletions for a listing, which also works without this script.

const table = document.querySelector(".listing");
const rows = table ? [...table.tBodies[0].rows].filter(row => !row.classList.contains("parent")) : [];
const linkOf = row => row.querySelector("th a");
// Without the password that the address of the page may contain: `fetch` refuses it.
const addressOf = row => location.origin + new URL(linkOf(row).href).pathname;
const nameOf = row => row.querySelector("bdi").textContent;

function make(tag, properties = {}, ...children) {
    const element = Object.assign(document.createElement(tag), properties);
    element.append(...children);
    return element;
}

// Screen readers speak the text.
function announce(text) {
    document.getElementById("announcement").textContent = text;
}

function humanSize(size) {
    let unit = 0;
    for (; size >= 1023.95 && unit < 4; unit++) size /= 1024;
    return unit ? `${size.toFixed(1)} ${["KiB", "MiB", "GiB", "TiB"][unit - 1]}` : `${size} B`;
}

// Times in the zone of the reader; exact times and sizes on hover.

function localise() {
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
            size.title = `${Number(size.value).toLocaleString()} bytes`;
        }, {once: true});
    }
    document.querySelector(".zone")?.remove();
}

// A filter while the user types, and the keys `/`, up and down.

function addFilter() {
    const field = document.querySelector(".filter");
    const lower = text => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
    const names = rows.map(row => lower(nameOf(row)));
    let timer = 0;
    const filter = () => {
        const words = lower(field.value).split(/\s+/).filter(Boolean);
        let shown = 0;
        rows.forEach((row, number) => {
            row.hidden = !words.every(word => names[number].includes(word));
            shown += !row.hidden;
        });
        clearTimeout(timer);
        timer = setTimeout(() => announce(words.length ? `${shown} of ${rows.length} shown` : ""), 400);
    };
    if (field) {
        field.hidden = false;
        field.addEventListener("input", filter);
        field.addEventListener("keydown", event => {
            if (event.key === "Escape" && field.value) { field.value = ""; filter(); event.preventDefault(); }
        });
        filter();
    }
    document.addEventListener("keydown", event => {
        if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
        if (event.key === "/" && field && document.activeElement !== field) {
            field.focus();
            event.preventDefault();
        } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
            const here = document.activeElement;
            const seen = rows.filter(row => !row.hidden && linkOf(row));
            const at = seen.findIndex(row => row.contains(here));
            if (at < 0 && here !== field) return;
            const next = seen[at + (event.key === "ArrowDown" ? 1 : -1)];
            if (next || at >= 0) { (next ? linkOf(next) : field)?.focus(); event.preventDefault(); }
        }
    });
}

// Dialogs.

// Shows a dialog and resolves with the value of the button that closed it; empty for Escape.
function ask(title, text, ...buttons) {
    const heading = make("h2", {id: "asked", textContent: title});
    const dialog = make("dialog", {}, heading, make("p", {textContent: text}));
    dialog.setAttribute("aria-labelledby", "asked");
    const choices = make("div", {className: "choices"});
    for (const [value, label, style = ""] of buttons) {
        choices.append(make("button", {
            type: "button", textContent: label, className: style, onclick: () => dialog.close(value),
        }));
    }
    dialog.append(choices);
    document.body.append(dialog);
    return new Promise(resolve => {
        dialog.addEventListener("close", () => { dialog.remove(); resolve(dialog.returnValue); });
        dialog.showModal();
    });
}

// Previews.

const PREVIEWED = ["image", "video", "audio", "text", "code"];
const TEXT_SHOWN = 65536;
// Kinds of texts and pictures that a browser does not show, or not as text.
const NOT_SHOWN = /\.(docx?|epub|heic|od[pst]|pdf|pptx?|rtf|tiff?|xlsx?)$/i;

const kindOf = row => PREVIEWED.find(kind => linkOf(row)?.classList.contains(kind));
const hasPreview = row => Boolean(kindOf(row)) && !NOT_SHOWN.test(nameOf(row));

async function viewOf(row) {
    const source = addressOf(row);
    const kind = kindOf(row);
    if (kind === "text" || kind === "code") {
        const answer = await fetch(source, {headers: {Range: `bytes=0-${TEXT_SHOWN - 1}`}});
        if (answer.status === 416) return make("pre", {textContent: ""});
        if (!answer.ok) throw new Error(answer.status);
        const total = Number(answer.headers.get("Content-Range")?.split("/")[1] ?? 0);
        const text = (await firstOf(answer)).replace(/\uFFFD$/, "");
        const rest = total > TEXT_SHOWN ? `\n\n… ${humanSize(total - TEXT_SHOWN)} more` : "";
        return make("pre", {textContent: text + rest, tabIndex: 0});
    }
    const view = kind === "image" ? make("img", {alt: nameOf(row)}) : make(kind, {controls: true});
    const ready = new Promise((resolve, reject) => {
        view.addEventListener(kind === "image" ? "load" : "loadedmetadata", resolve);
        view.addEventListener("error", reject);
    });
    view.src = source;
    await ready;
    return view;
}

// The beginning of a body, even if the whole body is sent.
async function firstOf(answer) {
    const reader = answer.body.getReader();
    const decoder = new TextDecoder();
    let text = "";
    for (let size = 0; size < TEXT_SHOWN;) {
        const {done, value} = await reader.read();
        if (done) break;
        size += value.length;
        text += decoder.decode(value, {stream: true});
    }
    reader.cancel();
    return text;
}

function preview(first) {
    const seen = rows.filter(row => !row.hidden && hasPreview(row));
    let at = seen.indexOf(first);
    const heading = make("h2", {id: "previewed"});
    const view = make("div", {className: "view"});
    const open = make("a", {className: "button", textContent: "Open"});
    const step = (by, label) => make("button", {
        type: "button", textContent: label, onclick: () => show(at + by),
    });
    const [before, after] = [step(-1, "Previous"), step(1, "Next")];
    const close = make("button", {type: "button", textContent: "Close", onclick: () => dialog.close()});
    const dialog = make("dialog", {className: "preview"}, heading, view,
        make("div", {className: "choices"}, before, after, open, close));
    dialog.setAttribute("aria-labelledby", "previewed");

    async function show(number) {
        at = number;
        const row = seen[at];
        heading.textContent = nameOf(row);
        open.href = linkOf(row).href;
        before.disabled = at === 0;
        after.disabled = at === seen.length - 1;
        view.replaceChildren(make("p", {textContent: "Loading…"}));
        const found = await viewOf(row).catch(() => make("p", {textContent: "This file has no preview."}));
        if (seen[at] === row && dialog.isConnected) view.replaceChildren(found);
    }

    dialog.addEventListener("keydown", event => {
        if (event.target.closest("pre, video, audio")) return;
        if (event.key === "ArrowLeft" && at > 0) show(at - 1);
        if (event.key === "ArrowRight" && at < seen.length - 1) show(at + 1);
    });
    dialog.addEventListener("close", () => dialog.remove());
    document.body.append(dialog);
    dialog.showModal();
    close.focus();
    show(at);
}

// Removals.

async function remove(row) {
    const name = nameOf(row);
    const choice = await ask("Delete this file?", `“${name}” will be gone for everyone. This cannot be undone.`,
        ["", "Keep"], ["delete", "Delete", "danger"]);
    if (choice !== "delete") return;
    const answer = await fetch(addressOf(row), {method: "DELETE", headers: {Accept: "application/json"}})
        .catch(() => null);
    if (!answer?.ok) {
        await ask("Not deleted", `“${name}”: ${await reasonOf(answer)}.`, ["", "Close"]);
        return;
    }
    const near = rows[rows.indexOf(row) + 1] ?? rows[rows.indexOf(row) - 1];
    rows.splice(rows.indexOf(row), 1);
    row.remove();
    announce(`${name} is deleted`);
    if (near) linkOf(near)?.focus();
    else location.reload();
}

async function reasonOf(answer) {
    if (!answer) return "the service cannot be reached";
    const error = await answer.json().catch(() => ({}));
    return error.message ?? `the service answered ${answer.status}`;
}

function addActions() {
    const previewed = rows.some(hasPreview);
    if (!previewed && !rows.some(row => "removable" in row.dataset)) return;
    const icon = (name, label, action) => {
        const button = make("button", {type: "button", className: `icon ${name}`, title: label, onclick: action});
        button.setAttribute("aria-label", label);
        return button;
    };
    table.tHead.rows[0].append(make("th", {className: "do", scope: "col"},
        make("span", {className: "unseen", textContent: "Actions"})));
    for (const row of table.tBodies[0].rows) {
        const cell = make("td", {className: "do"});
        if (rows.includes(row)) {
            const name = nameOf(row);
            if (hasPreview(row)) cell.append(icon("eye", `Preview ${name}`, () => preview(row)));
            if ("removable" in row.dataset) cell.append(icon("bin", `Delete ${name}`, () => remove(row)));
        }
        row.append(cell);
    }
}

localise();
addFilter();
if (table) addActions();
addUploads();
