// The viewer of pictures, films, sounds, texts and PDF files: a module that uses the functions of the page's script.

const TEXT_SHOWN = 65536;

async function viewOf(row) {
    const source = addressOf(row);
    if (isPdf(row)) return pdfOf(row);
    const kind = kindOf(row);
    if (kind === "text" || kind === "code") return (/\.(md|markdown)$/i.test(nameOf(row)) && await markdownOf(row)) || textOf(row);
    const view = kind === "image" ? make("img", {alt: nameOf(row)}) : make(kind, {controls: true});
    const ready = new Promise((resolve, reject) => {
        view.addEventListener(kind === "image" ? "load" : "loadedmetadata", resolve);
        view.addEventListener("error", reject);
    });
    view.src = source;
    await ready;
    return view;
}

// What only has the name of a PDF file could be a page with scripts.
async function pdfOf(row) {
    const answer = await fetch(addressOf(row), {method: "HEAD"});
    if (!/^application\/pdf\b/i.test(answer.headers.get("Content-Type"))) throw new Error("no PDF file");
    return make("iframe", {src: addressOf(row), title: nameOf(row)});
}

// The file as the service shows READMEs, where it does.
async function markdownOf(row) {
    const url = new URL(location.href);
    url.searchParams.set("readme", fileNameOf(row));
    const text = (await load(url))?.querySelector(".readme[data-name]");
    return text && text.dataset.name === fileNameOf(row) ? make("div", {className: "readme", tabIndex: 0}, ...text.childNodes) : null;
}

async function textOf(row) {
    const answer = await fetch(addressOf(row), {headers: {Accept: "application/json", Range: `bytes=0-${TEXT_SHOWN - 1}`}});
    if (!answer.ok && answer.status !== 416) return make("p", {textContent: `${await reasonOf(answer)}.`});
    const total = Number(answer.headers.get("Content-Range")?.split("/")[1] ?? 0);
    const text = answer.ok ? (await firstOf(answer)).replace(/\uFFFD$/, "") : "";
    const code = make("code", {}, ...await coloured(text, nameOf(row)));
    const lines = text.replace(/\n$/, "").split("\n").length;
    const numbers = make("span", {className: "numbers", textContent: Array.from({length: lines}, (_, at) => at + 1).join("\n")});
    numbers.setAttribute("aria-hidden", "true");
    const view = make("pre", {tabIndex: 0}, numbers, code);
    if (total > TEXT_SHOWN) view.append(make("em", {textContent: `… ${humanSize(total - TEXT_SHOWN)} more`}));
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

// A text as tokens in the colours of its language; unchanged if the language is not known.
async function coloured(text, name) {
    const {default: Prism} = await import(sources.highlighter).catch(() => ({}));
    const ending = name.split(".").pop().toLowerCase();
    const grammar = Prism?.languages[ending];
    const spans = token => typeof token === "string" ? token
        : make("span", {className: `t-${token.type}`}, ...[token.content].flat().map(spans));
    return typeof grammar === "object" ? Prism.tokenize(text, grammar).map(spans) : [text];
}

export function view(first) {
    const seen = rows.filter(row => !row.hidden && hasView(row));
    let at = seen.indexOf(first);
    const heading = make("h2", {id: "viewed"});
    const place = make("span", {className: "place", role: "status"});
    const stage = make("div", {className: "view"});
    const download = make("a", {className: "button", textContent: "Download"});
    const step = (by, label, sign) => {
        const made = button(sign, () => show(at + by), `turn ${by < 0 ? "left" : "right"}`);
        made.setAttribute("aria-label", label);
        return made;
    };
    const [before, after] = [step(-1, "Previous", "‹"), step(1, "Next", "›")];
    const open = make("a", {className: "button", textContent: "Open"});
    const close = button("Close", () => dialog.close());
    const dialog = make("dialog", {className: "preview"}, make("div", {className: "title"}, heading, place),
        make("div", {className: "stage"}, stage, before, after), make("div", {className: "choices"}, download, open, close));
    dialog.setAttribute("aria-labelledby", "viewed");

    async function show(number) {
        if (!seen[number]) return;
        at = number;
        const row = seen[at];
        heading.textContent = nameOf(row);
        place.textContent = seen.length > 1 ? `${at + 1} of ${seen.length}` : "";
        open.href = download.href = linkOf(row).href;
        download.download = fileNameOf(row);
        before.disabled = at === 0;
        after.disabled = at === seen.length - 1;
        stage.replaceChildren(make("p", {textContent: "Loading…"}));
        const content = await viewOf(row).catch(() => make("p", {textContent: "This file has no preview."}));
        if (seen[at] === row && dialog.isConnected) stage.replaceChildren(content);
    }

    dialog.addEventListener("keydown", event => {
        if (event.target.closest("video, audio")) return;
        if (event.key === "ArrowLeft") show(at - 1);
        else if (event.key === "ArrowRight") show(at + 1);
        else if (event.key === "Home" && !event.target.closest("pre")) show(0);
        else if (event.key === "End" && !event.target.closest("pre")) show(seen.length - 1);
    });
    let start = null;
    stage.addEventListener("pointerdown", event => { start = event.pointerType === "mouse" || event.target.closest("pre") ? null : event; });
    stage.addEventListener("pointerup", event => {
        const way = start ? event.clientX - start.clientX : 0;
        if (Math.abs(way) > 40 && Math.abs(way) > 2 * Math.abs(event.clientY - start.clientY)) show(at + (way < 0 ? 1 : -1));
        start = null;
    });
    dialog.addEventListener("close", () => { dialog.remove(); linkOf(seen[at])?.focus(); });
    document.body.append(dialog);
    dialog.showModal();
    close.focus();
    show(at);
}
