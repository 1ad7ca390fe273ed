// What a listing does besides being read: local times, a filter, previews, uploads, removals. The page works without it.
"use strict";

const table = document.querySelector(".listing");
const rows = table ? [...table.tBodies[0].rows].filter(row => !row.classList.contains("parent")) : [];
const linkOf = row => row.querySelector("th a");
// Without the password that the page's own address may have: `fetch` refuses one.
const addressOf = row => location.origin + new URL(linkOf(row).href).pathname;
const nameOf = row => row.querySelector("bdi").textContent;

function make(tag, properties = {}, ...children) {
    const element = Object.assign(document.createElement(tag), properties);
    element.append(...children);
    return element;
}

// Said aloud by screen readers.
function say(text) {
    document.getElementById("said").textContent = text;
}

function humanSize(size) {
    let unit = 0;
    for (; size >= 1023.95 && unit < 4; unit++) size /= 1024;
    return unit ? `${size.toFixed(1)} ${["KiB", "MiB", "GiB", "TiB"][unit - 1]}` : `${size} B`;
}

// Times of the reader's own zone; exact times and sizes on hover.

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

// A filter as one types, and the keys `/`, up and down.

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
        timer = setTimeout(() => say(words.length ? `${shown} of ${rows.length} shown` : ""), 400);
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
// Kinds of text that a browser cannot show as text.
const NO_TEXT = /\.(docx?|epub|od[pst]|pdf|pptx?|rtf|xlsx?)$/i;

const kindOf = row => PREVIEWED.find(kind => linkOf(row)?.classList.contains(kind));
const hasPreview = row => Boolean(kindOf(row)) && !NO_TEXT.test(nameOf(row));

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

// The beginning of a body, even where the whole was sent.
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
    say(`${name} is deleted`);
    if (near) linkOf(near)?.focus();
    else location.reload();
}

async function reasonOf(answer) {
    if (!answer) return "the service cannot be reached";
    const told = await answer.json().catch(() => ({}));
    return told.message ?? `the service answered ${answer.status}`;
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

// Uploads: each file is a PUT of a form to its directory, three at a time.

const AT_ONCE = 3;

class Transfer {
    constructor(file, directory) {
        this.file = file;
        this.directory = directory; // relative to the listed one, empty or with a closing slash
        this.name = directory + file.name;
        this.bar = make("progress", {max: file.size || 1, value: 0});
        this.bar.setAttribute("aria-label", this.name);
        this.said = make("span", {className: "said", textContent: "waiting"});
        this.stop = make("button", {type: "button", className: "button", textContent: "Stop", onclick: () => this.abort()});
        this.stop.setAttribute("aria-label", `Stop ${this.name}`);
        this.item = make("li", {}, make("span", {className: "name", textContent: this.name}), this.stop, this.bar, this.said);
        this.state = "waiting";
    }

    end(state, text) {
        this.state = state;
        this.said.textContent = text;
        this.said.classList.toggle("failed", state === "failed");
        this.stop.remove();
        if (state !== "done") this.bar.remove();
    }

    abort() {
        this.request?.abort();
        if (this.state === "waiting" || this.state === "sending") this.end("stopped", "stopped");
    }

    get directoryUrl() {
        return location.origin + location.pathname + this.directory.split("/").map(encodeURIComponent).join("/");
    }

    // Whether a file of this name is there; where that cannot be asked, the upload itself will tell.
    async isTaken() {
        const url = this.directoryUrl + encodeURIComponent(this.file.name);
        const answer = await fetch(url, {method: "HEAD"}).catch(() => null);
        return Boolean(answer?.ok);
    }

    send(replace) {
        this.state = "sending";
        this.said.textContent = "";
        return new Promise(resolve => {
            const request = this.request = new XMLHttpRequest();
            const form = new FormData();
            form.append("file", this.file, this.file.name);
            request.open("PUT", this.directoryUrl);
            request.responseType = "json";
            request.setRequestHeader("Accept", "application/json");
            if (!replace) request.setRequestHeader("If-None-Match", "*");
            request.upload.onprogress = event => {
                this.bar.value = Math.min(event.loaded, this.bar.max);
                this.said.textContent = `${humanSize(this.bar.value)} of ${humanSize(this.file.size)}`;
            };
            request.onload = () => resolve([request.status, request.response?.message]);
            request.onerror = () => resolve([0, "the connection broke"]);
            request.onabort = () => resolve([-1]);
            request.send(form);
        });
    }
}

class Uploads {
    constructor(section) {
        this.section = section;
        this.mayReplace = "replace" in section.dataset;
        this.maxSize = Number(section.dataset.max ?? Infinity);
        this.list = make("ul", {className: "transfers"});
        this.all = [];
        this.running = 0;
        this.answerForAll = "";
        this.asking = Promise.resolve();
    }

    add(pairs) {
        if (!pairs.length) return;
        this.section.append(this.list);
        for (const [file, directory] of pairs) {
            const transfer = new Transfer(file, directory);
            this.all.push(transfer);
            this.list.append(transfer.item);
            if (file.size > this.maxSize) transfer.end("failed", `larger than ${humanSize(this.maxSize)}`);
        }
        this.advance();
    }

    advance() {
        while (this.running < AT_ONCE) {
            const next = this.all.find(each => each.state === "waiting");
            if (!next) break;
            next.state = "sending";
            this.running++;
            this.run(next).finally(() => { this.running--; this.advance(); });
        }
        if (!this.running && !this.all.some(each => each.state === "waiting")) this.finish();
    }

    async run(transfer) {
        let replace = false;
        if (await transfer.isTaken()) {
            replace = await this.decide(transfer) === "replace";
            if (!replace) { transfer.end("skipped", "skipped: there is a file of this name"); return; }
        }
        if (transfer.state !== "sending") return;
        let [status, message] = await transfer.send(replace);
        if ((status === 412 || status === 409) && !replace) {
            if (await this.decide(transfer) !== "replace") {
                transfer.end("skipped", "skipped: there is a file of this name");
                return;
            }
            [status, message] = await transfer.send(true);
        }
        if (status === 201 || status === 200) {
            transfer.bar.value = transfer.bar.max;
            transfer.end("done", "done");
        } else if (status !== -1) {
            transfer.end("failed", message ?? `the service answered ${status}`);
        }
    }

    // One question at a time; an answer may hold for all that follow.
    decide(transfer) {
        const asked = this.asking.then(async () => {
            if (this.answerForAll) return this.answerForAll;
            const replace = this.mayReplace ? [["replace", "Replace"], ["replace all", "Replace all", "danger"]] : [];
            const rule = this.mayReplace ? "" : " Files may not be replaced here.";
            const answer = await ask("There is a file of this name", `“${transfer.name}” exists already.${rule}`,
                ["skip", "Skip", "primary"], ["skip all", "Skip all"], ...replace);
            if (answer.endsWith("all")) this.answerForAll = answer.split(" ")[0];
            return answer.split(" ")[0] || "skip";
        });
        this.asking = asked;
        return asked;
    }

    finish() {
        const count = state => this.all.filter(each => each.state === state).length;
        const parts = [[count("done"), "uploaded"], [count("skipped"), "skipped"], [count("stopped"), "stopped"],
            [count("failed"), "failed"]].filter(([number]) => number).map(([number, word]) => `${number} ${word}`);
        say(parts.join(", "));
        this.answerForAll = "";
        if (count("done") && !count("failed")) {
            sessionStorage.setItem("uploaded", parts.join(", "));
            location.reload();
        } else if (count("done")) {
            this.section.append(make("button", {type: "button", textContent: "Show the files", onclick: () => location.reload()}));
        }
    }
}

// The files of a drop, those in directories too, each with the directory that it is in.
async function dropped(items) {
    const found = [];
    const walk = async (entry, directory) => {
        if (entry.isFile) {
            found.push([await new Promise((resolve, reject) => entry.file(resolve, reject)), directory]);
        } else {
            const reader = entry.createReader();
            for (;;) {
                const some = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
                if (!some.length) break;
                for (const each of some) await walk(each, `${directory}${entry.name}/`);
            }
        }
    };
    const entries = [...items].map(item => item.webkitGetAsEntry?.()).filter(Boolean);
    for (const entry of entries) await walk(entry, "");
    return found;
}

function addUploads() {
    const section = document.querySelector(".upload");
    if (!section) return;
    const uploads = new Uploads(section);
    const chooser = (label, more) => {
        const input = make("input", {type: "file", multiple: true, hidden: true, ...more});
        input.setAttribute("aria-label", label);
        input.addEventListener("change", () => {
            uploads.add([...input.files].map(file =>
                [file, (file.webkitRelativePath || file.name).split("/").slice(0, -1).map(each => `${each}/`).join("")]));
            input.value = "";
        });
        section.append(input, make("button", {type: "button", textContent: label, onclick: () => input.click()}));
    };
    chooser("Choose files", {className: "files"});
    if ("webkitdirectory" in HTMLInputElement.prototype) chooser("Choose a directory", {webkitdirectory: true});
    section.hidden = false;
    let depth = 0;
    const isFiles = event => event.dataTransfer?.types.includes("Files");
    const mark = by => { depth = by ? Math.max(0, depth + by) : 0; document.body.classList.toggle("dropping", depth > 0); };
    addEventListener("dragenter", event => { if (isFiles(event)) mark(1); });
    addEventListener("dragleave", event => { if (isFiles(event)) mark(-1); });
    addEventListener("dragover", event => { if (isFiles(event)) event.preventDefault(); });
    addEventListener("drop", async event => {
        if (!isFiles(event)) return;
        event.preventDefault();
        mark(0);
        uploads.add(await dropped(event.dataTransfer.items));
    });
    addEventListener("beforeunload", event => { if (uploads.running) event.preventDefault(); });
    const before = sessionStorage.getItem("uploaded");
    if (before) { sessionStorage.removeItem("uploaded"); say(before); }
}

localise();
addFilter();
if (table) addActions();
addUploads();
