// A button for each file that the viewer shows, and the pictures of a directory as a grid.

const VIEWED = ["image", "video", "audio", "text", "code"];
const LARGEST_PICTURE = 4 * 2 ** 20; // bytes of a picture in the grid
// Kinds of texts and pictures that a browser does not show, or not as text.
const NOT_SHOWN = /\.(docx?|epub|heic|od[pst]|pptx?|rtf|tiff?|xlsx?)$/i;

const isPdf = row => /\.pdf$/i.test(nameOf(row));
const kindOf = row => VIEWED.find(kind => linkOf(row)?.classList.contains(kind));
const hasView = row => Boolean(kindOf(row)) && !NOT_SHOWN.test(nameOf(row)) && (!isPdf(row) || navigator.pdfViewerEnabled);
const sizeOf = row => Number(row.querySelector("data")?.value ?? Infinity);

// The viewer is loaded when it is first needed, to keep the first visit light; without it, the browser opens the file.
async function view(row) {
    const viewer = await import(sources.viewer).catch(() => null);
    if (viewer) viewer.view(row);
    else location.assign(linkOf(row).href);
}

function icon(name, label, action) {
    const made = make("button", {type: "button", className: `icon ${name}`, title: label, onclick: action});
    made.setAttribute("aria-label", label);
    return made;
}

parts.push(() => {
    if (!rows.some(row => hasView(row) || "removable" in row.dataset)) return;
    table().tHead.rows[0].append(make("th", {className: "do", scope: "col"}, make("span", {className: "unseen", textContent: "Actions"})));
    for (const row of table().tBodies[0].rows) {
        const cell = make("td", {className: "do"});
        if (rows.includes(row)) {
            const name = nameOf(row);
            if (hasView(row)) cell.append(icon("eye", `Preview ${name}`, () => view(row)));
            if ("removable" in row.dataset) cell.append(icon("bin", `Delete ${name}`, () => remove([row])));
        }
        row.append(cell);
    }
});

// The grid: the browser loads a picture when it comes into sight, and only if it is not too large.
parts.push(() => {
    const pictures = rows.filter(row => kindOf(row) === "image" && hasView(row) && sizeOf(row) <= LARGEST_PICTURE);
    if (pictures.length < 2) return;
    const grid = on => {
        table().classList.toggle("grid", on);
        toggle.setAttribute("aria-pressed", on);
        memory(kept => on ? kept.setItem("grid", "1") : kept.removeItem("grid"));
        for (const row of on ? pictures : []) {
            if (row.querySelector("img")) continue;
            const picture = make("img", {alt: "", loading: "lazy", decoding: "async", src: addressOf(row)});
            picture.addEventListener("error", () => picture.remove());
            linkOf(row).prepend(picture);
        }
    };
    const toggle = button("Grid", () => grid(!table().classList.contains("grid")));
    document.querySelector(".tools")?.append(toggle);
    grid(Boolean(memory(kept => kept.getItem("grid"))));
    for (const row of pictures) {
        linkOf(row).addEventListener("click", event => {
            if (!table().classList.contains("grid") || event.ctrlKey || event.metaKey || event.shiftKey) return;
            event.preventDefault();
            view(row);
        });
    }
});
