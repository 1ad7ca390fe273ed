// The offer of uploads. The module that sends files is loaded when it is first needed, to keep the first visit light.

const {transfers} = document.currentScript.dataset;

async function withTransfers(use) {
    const module = await import(transfers).catch(() => null);
    if (module) return use(module);
    const text = "This page cannot load what sends files. Reload it, then choose the files again.";
    return ask("Nothing was uploaded", text, ["", "Close"]);
}

// While the reader chooses or drags files.
const loadAhead = () => { import(transfers).catch(() => {}); };

function chooser(label, style, more, directory = () => "") {
    const input = make("input", {type: "file", multiple: true, hidden: true, ...more});
    input.setAttribute("aria-label", label);
    input.addEventListener("change", () => {
        const pairs = [...input.files].map(file => [file, directory() + (file.webkitRelativePath || file.name).split("/").slice(0, -1)
            .map(each => `${each}/`).join("")]);
        const options = offered();
        withTransfers(({uploads}) => uploads.add(pairs, options));
        input.value = "";
    });
    return [input, button(label, () => { loadAhead(); input.click(); }, style)];
}

// The directory that the page shows, and what it offers; the names on it make a question to the service unnecessary.
function offered() {
    const {dataset} = document.querySelector(".upload");
    const names = new Set(rows.filter(linkOf).map(fileNameOf));
    const [mayReplace, direct] = ["replace" in dataset, "direct" in dataset];
    return {url: location.origin + location.pathname, mayReplace, maxSize: Number(dataset.max ?? Infinity), direct, names};
}

parts.push(() => {
    const section = document.querySelector(".upload");
    if (section && !section.querySelector("button")) {
        section.append(...chooser("Upload files", "primary", {className: "files"}));
        if ("webkitdirectory" in HTMLInputElement.prototype) section.append(...chooser("Upload a directory", "", {webkitdirectory: true}));
        section.append(button("New directory", () => withTransfers(({uploadIntoNew}) => uploadIntoNew())));
        section.hidden = false;
    }
});

// Drops are taken by the whole page.
const isFiles = event => document.querySelector(".upload") && event.dataTransfer?.types.includes("Files");
const mark = on => document.body.classList.toggle("dropping", on);
addEventListener("dragenter", event => {
    if (!isFiles(event)) return;
    loadAhead();
    mark(true);
});
addEventListener("dragleave", event => { if (!event.relatedTarget) mark(false); }); // the pointer has left the page
addEventListener("dragover", event => { if (isFiles(event)) event.preventDefault(); });
addEventListener("drop", event => {
    if (!isFiles(event)) return;
    event.preventDefault();
    mark(false);
    const options = offered();
    // They are gone after this event.
    const entries = [...event.dataTransfer.items].map(item => item.webkitGetAsEntry?.()).filter(Boolean);
    withTransfers(async ({uploads, filesOf}) => uploads.add(await filesOf(entries), options));
});
