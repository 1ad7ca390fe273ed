// Uploads: three files at a time, each as a form or, if it is large, in parts or as a form for S3 (docs/http.md). They go
// on while the reader visits other directories. This module uses the functions of the page's script.

const AT_ONCE = 3;
const LARGE = 32 * 2 ** 20; // bytes; a larger file is sent in several requests
const PART = 8 * 2 ** 20;
const PARTS_AT_ONCE = 2;
const PAUSES = [1, 2, 4, 8, 15, 30, 30, 30]; // seconds before another try
const MOST_PARTS = 10000;

const isPassing = status => status === 0 || status === 408 || status === 429 || status >= 500;

class Transfer {
    constructor(file, directory, options) {
        this.file = file;
        this.options = options; // what the page offered that was shown when the file was chosen
        this.directoryUrl = options.url + directory.split("/").map(encodeURIComponent).join("/");
        this.name = directory + file.name;
        this.bar = make("progress", {max: file.size || 1, value: 0});
        this.bar.setAttribute("aria-label", this.name);
        this.message = make("span", {className: "message", textContent: "waiting"});
        this.stop = make("button", {type: "button", className: "button", textContent: "Stop", onclick: () => this.abort()});
        this.stop.setAttribute("aria-label", `Stop ${this.name}`);
        this.item = make("li", {}, make("span", {className: "name", textContent: this.name}), this.stop, this.bar, this.message);
        this.item.tabIndex = -1;
        this.state = "waiting";
        this.requests = new Map(); // requests in flight, each with the bytes that it has sent
        this.stored = 0; // bytes of parts that are stored
    }

    end(state, text) {
        this.state = state;
        this.message.textContent = text;
        this.message.classList.toggle("failed", state === "failed");
        const hadFocus = this.stop === document.activeElement;
        this.stop.remove();
        if (state !== "done") this.bar.remove();
        // The focus stays in the list: at the next button, or at the file itself.
        if (hadFocus) (this.item.parentElement.querySelector("button") ?? this.item).focus();
    }

    abort() {
        for (const request of this.requests.keys()) request.abort();
        if (this.upload) {
            this.ask("abort", {id: this.upload}).catch(() => {});
            this.forget();
        }
        if (this.state === "waiting" || this.state === "sending") this.end("stopped", "stopped");
    }

    get url() {
        return this.directoryUrl + encodeURIComponent(this.file.name);
    }

    progress() {
        const sent = this.stored + [...this.requests.values()].reduce((sum, each) => sum + each, 0);
        this.bar.value = Math.min(sent, this.bar.max);
        this.message.textContent = `${humanSize(this.bar.value)} of ${humanSize(this.file.size)}${this.note ?? ""}`;
    }

    // Resolves with the status and the message of an error; 0 is a broken connection, -1 an abort by the user.
    request(method, url, body, headers = {}) {
        return new Promise(resolve => {
            const request = new XMLHttpRequest();
            const end = (...result) => { this.requests.delete(request); resolve(result); };
            request.open(method, url);
            request.responseType = "json";
            for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value);
            request.upload.onprogress = event => { this.requests.set(request, event.loaded); this.progress(); };
            request.onload = () => end(request.status, request.response?.message);
            request.onerror = () => end(0, "the connection broke");
            request.onabort = () => end(-1);
            this.requests.set(request, 0);
            request.send(body);
        });
    }

    async send(replace, direct) {
        this.state = "sending";
        this.message.textContent = "";
        const headers = {Accept: "application/json", ...(replace ? {} : {"If-None-Match": "*"})};
        if (this.file.size <= LARGE) return this.sendWhole(headers);
        return (direct && await this.sendToS3(replace)) || await this.sendInParts(headers) || this.sendWhole(headers);
    }

    sendWhole(headers) {
        const form = new FormData();
        form.append("file", this.file, this.file.name);
        return this.request("PUT", this.directoryUrl, form, headers);
    }

    // Straight to S3; nothing if the page cannot reach S3, which needs a CORS rule of the bucket, or if the form could
    // replace a file: S3 would not ask.
    async sendToS3(replace) {
        if (!replace && (await fetch(this.url, {method: "HEAD"}).catch(() => null))?.ok) return [412];
        const answer = await fetch(`${this.url}?upload=direct`, {method: "PUT", headers: this.type}).catch(() => null);
        if (!answer?.ok) return null;
        const {url, fields, maxSize} = await answer.json();
        if (this.file.size > maxSize) return null;
        const form = new FormData();
        for (const [name, value] of Object.entries(fields)) form.append(name, value);
        form.append("file", this.file);
        const [status] = await this.request("POST", url, form);
        if (status === 0) {
            this.note = ", through this service, since S3 cannot be reached from this page";
            return null;
        }
        return status >= 200 && status < 300 ? [201] : [status, `S3 answered ${status}`];
    }

    // In parts. Each is sent again when its connection breaks; what was sent is kept for when the same file is chosen
    // again. Nothing where parts are not possible.
    async sendInParts(headers) {
        const size = Math.max(PART, Math.ceil(this.file.size / MOST_PARTS / PART) * PART);
        const numbers = Array.from({length: Math.ceil(this.file.size / size)}, (_, index) => index + 1);
        const lengthOf = number => Math.min(size, this.file.size - (number - 1) * size);
        const stored = await this.resume();
        if (!stored) {
            const answer = await this.ask("start", {size: this.file.size}, {...headers, ...this.type}).catch(() => null);
            if ([403, 411, 501, 502].includes(answer?.status)) return null;
            if (!answer?.ok) return [answer?.status ?? 0, await reasonOf(answer)];
            this.remember((await answer.json()).id);
        }
        if (this.state !== "sending") {
            this.abort();
            return [-1];
        }
        const missing = numbers.filter(number => stored?.get(number) !== lengthOf(number));
        this.stored = this.file.size - missing.reduce((sum, number) => sum + lengthOf(number), 0);
        let failed = null;
        const work = async () => {
            while (missing.length && !failed && this.state === "sending") {
                const number = missing.shift();
                const start = (number - 1) * size;
                const result = await this.sendPart(number, this.file.slice(start, start + size));
                if (result[0] === 204) this.stored += lengthOf(number);
                else failed ??= result;
            }
        };
        await Promise.all(Array.from({length: PARTS_AT_ONCE}, work));
        if (this.state !== "sending") return [-1];
        return failed ?? this.complete(headers);
    }

    async sendPart(number, part) {
        const url = this.stepUrl("part", {id: this.upload, number});
        return this.patiently(() => this.request("PUT", url, part, {"Content-Type": "application/octet-stream"}));
    }

    async complete(headers) {
        const size = this.file.size;
        let tries = 0;
        const result = await this.patiently(async () => {
            tries++;
            const answer = await this.ask("complete", {id: this.upload, size}, {...headers, ...this.type}).catch(() => null);
            if (answer?.status === 404 && tries > 1) {
                // The answer of an earlier try was lost.
                const found = await fetch(this.url, {method: "HEAD"}).catch(() => null);
                if (Number(found?.headers.get("Content-Length")) === size) return [201];
            }
            return answer?.ok ? [201] : [answer?.status ?? 0, await reasonOf(answer)];
        });
        if (result[0] === 201) this.forget();
        return result;
    }

    // Tries again, with pauses, while that may help.
    async patiently(trial) {
        for (let tries = 0; ; tries++) {
            const result = await trial();
            if (!isPassing(result[0]) || tries === PAUSES.length || this.state !== "sending") return result;
            this.message.textContent = "the connection broke, another try in a moment";
            await new Promise(resolve => {
                setTimeout(resolve, PAUSES[tries] * 1000);
                addEventListener("online", resolve, {once: true});
            });
            if (this.state !== "sending") return [-1];
        }
    }

    // The sizes of the stored parts of an earlier upload of this file, by number.
    async resume() {
        this.upload = memory(kept => kept.getItem(this.memoryKey));
        if (!this.upload) return null;
        const answer = await this.ask("parts", {id: this.upload}).catch(() => null);
        if (!answer?.ok) {
            if (answer?.status !== 401) this.forget();
            return null;
        }
        return new Map((await answer.json()).parts.map(({number, size}) => [number, size]));
    }

    remember(id) {
        this.upload = id;
        memory(kept => kept.setItem(this.memoryKey, id));
    }

    forget() {
        this.upload = null;
        memory(kept => kept.removeItem(this.memoryKey));
    }

    get memoryKey() {
        return `upload ${this.url} ${this.file.size} ${this.file.lastModified}`;
    }

    get type() {
        return this.file.type ? {"Content-Type": this.file.type} : {};
    }

    stepUrl(step, values) {
        return `${this.url}?${new URLSearchParams({upload: step, ...values})}`;
    }

    ask(step, values, headers = {Accept: "application/json"}) {
        return fetch(this.stepUrl(step, values), {method: "PUT", headers, keepalive: step === "abort"});
    }
}

class Uploads {
    constructor() {
        this.list = make("ul");
        this.clear = button("Clear the list", () => this.forget());
        this.panel = make("section", {className: "transfers", hidden: true}, this.list, this.clear);
        this.panel.setAttribute("aria-label", "Uploads");
        this.all = [];
        this.running = 0;
        this.answerForAll = "";
        this.asking = Promise.resolve();
    }

    add(pairs, options) {
        if (!pairs.length) return;
        if (!this.panel.isConnected) document.querySelector("body > main").after(this.panel);
        this.panel.hidden = false;
        this.clear.hidden = true;
        for (const [file, directory] of pairs) {
            const transfer = new Transfer(file, directory, options);
            this.all.push(transfer);
            this.list.append(transfer.item);
            if (file.size > options.maxSize) transfer.end("failed", `larger than ${humanSize(options.maxSize)}`);
        }
        announce(`Uploading ${pairs.length === 1 ? "1 file" : `${pairs.length} files`}`);
        this.advance();
    }

    forget() {
        this.all = [];
        this.list.replaceChildren();
        this.panel.hidden = true;
        document.querySelector(".upload button")?.focus();
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
        const skip = () => transfer.end("skipped", "skipped: there is a file of this name");
        let replace = false;
        if (transfer.options.names.has(transfer.name)) {
            replace = await this.decide(transfer) === "replace";
            if (!replace) { skip(); return; }
        }
        if (transfer.state !== "sending") return;
        let [status, message] = await this.send(transfer, replace);
        if ((status === 412 || status === 409) && !replace) {
            if (await this.decide(transfer) !== "replace") { skip(); return; }
            [status, message] = await this.send(transfer, true);
        }
        if (status === 201 || status === 200) {
            transfer.bar.value = transfer.bar.max;
            transfer.end("done", "done");
        } else if (status !== -1) {
            transfer.end("failed", message ?? `the service answered ${status}`);
        }
    }

    async send(transfer, replace) {
        let result = await transfer.send(replace, transfer.options.direct);
        while (result[0] === 401 && await this.signIn()) result = await transfer.send(replace, transfer.options.direct);
        return result;
    }

    // The session has ended. All files wait until the reader has begun another one.
    signIn() {
        this.signingIn ??= this.asking = this.asking.then(async () => {
            const goesOn = await signInAgain();
            this.signingIn = null;
            if (!goesOn) this.all.filter(({state}) => state === "waiting").forEach(each => each.abort());
            return goesOn;
        });
        return this.signingIn;
    }

    // One question at a time; the answer may apply to all that follow.
    decide(transfer) {
        const asked = this.asking.then(async () => {
            if (this.answerForAll) return this.answerForAll;
            const {mayReplace} = transfer.options;
            const replace = mayReplace ? [["replace", "Replace"], ["replace all", "Replace all", "danger"]] : [];
            const rule = mayReplace ? "" : " Files may not be replaced here.";
            const answer = await ask("There is a file of this name", `“${transfer.name}” exists already.${rule}`,
                ["skip", "Skip", "primary"], ["skip all", "Skip all"], ...replace);
            if (answer.endsWith("all")) this.answerForAll = answer.split(" ")[0];
            return answer.split(" ")[0] || "skip";
        });
        this.asking = asked;
        return asked;
    }

    // The new files appear where the reader is; what was skipped or failed stays in the list until it is cleared.
    async finish() {
        const count = state => this.all.filter(each => each.state === state).length;
        const text = [[count("done"), "uploaded"], [count("skipped"), "skipped"], [count("stopped"), "stopped"],
            [count("failed"), "failed"]].filter(([number]) => number).map(([number, word]) => `${number} ${word}`).join(", ");
        this.answerForAll = "";
        this.clear.hidden = false;
        if (count("done")) await refresh();
        announce(text);
    }

    // Whether a row shows a file that was uploaded since the list was last cleared, or a directory of one.
    has(row) {
        const address = addressOf(row);
        return this.all.some(({state, url}) => state === "done" && (url === address || (address.endsWith("/") && url.startsWith(address))));
    }
}

// The files of a drop, also those in directories, each with its directory.
export async function filesOf(entries) {
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
    for (const entry of entries) await walk(entry, "");
    return found;
}

export const uploads = new Uploads();

// S3 has no directories of their own: a new one exists with its first file.
export async function uploadIntoNew() {
    const field = make("input", {type: "text", id: "new-directory", maxLength: 200, autocomplete: "off"});
    const label = make("label", {htmlFor: "new-directory", textContent: "Its name. It exists as soon as it has a file."});
    const [input, choose] = chooser("Choose files", "primary", {className: "files-of-new"}, () => `${field.value.trim()}/`);
    const form = make("form", {className: "new"}, label, field, input, choose);
    form.addEventListener("submit", event => { event.preventDefault(); choose.click(); });
    input.addEventListener("click", event => {
        const name = field.value.trim();
        const isName = name && !name.includes("/") && name !== "." && name !== "..";
        field.setCustomValidity(isName ? "" : "A name without slashes, other than . and ..");
        if (!field.reportValidity()) event.preventDefault();
    });
    input.addEventListener("change", () => form.closest("dialog").close());
    await ask("A new directory", form, ["", "Cancel"]);
}

parts.push(() => {
    for (const row of rows) {
        if (!linkOf(row) || row.classList.contains("new") || !uploads.has(row)) continue;
        row.classList.add("new");
        linkOf(row).after(make("span", {className: "unseen", textContent: "new"}));
    }
});

// While files are sent, links to listings change the content of the page instead of leaving it.
let shown = location.pathname + location.search;
addEventListener("beforeunload", event => { if (uploads.running) event.preventDefault(); });
addEventListener("click", async event => {
    const link = event.target.closest?.("header a, a.directory, a.up, thead a, .pages a, #matches a");
    if (!link || !uploads.running || event.defaultPrevented || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    if (link.origin !== location.origin) return;
    event.preventDefault();
    history.pushState(null, "", link.pathname + link.search);
    await visit();
    scrollTo(0, 0);
});
addEventListener("popstate", () => { if (location.pathname + location.search !== shown) visit(); });

async function visit() {
    shown = location.pathname + location.search;
    if (!await show(location.href)) location.reload();
}
