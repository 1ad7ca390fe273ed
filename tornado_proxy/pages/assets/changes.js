// Choices of several files, to be downloaded as one or deleted.

async function remove(chosen) {
    const names = chosen.map(nameOf);
    const title = names.length > 1 ? `Delete ${names.length} files?` : "Delete this file?";
    const shown = names.slice(0, 5).map(name => `“${name}”`).join(", ") + (names.length > 5 ? ` and ${names.length - 5} more` : "");
    const text = `${shown} will be gone for everyone. This cannot be undone.`;
    if (await ask(title, text, ["", "Keep"], ["delete", "Delete", "danger"]) !== "delete") return;
    const last = rows.indexOf(chosen.at(-1));
    const near = [...rows.slice(last + 1), ...rows.slice(0, last).reverse()].find(row => !chosen.includes(row) && linkOf(row));
    const nearName = near && nameOf(near);
    const failures = [];
    for (const row of chosen) {
        const send = () => fetch(addressOf(row), {method: "DELETE", headers: {Accept: "application/json"}}).catch(() => null);
        let answer = await send();
        while (answer?.status === 401 && await signInAgain()) answer = await send();
        if (!answer?.ok) failures.push(`“${nameOf(row)}”: ${await reasonOf(answer)}`);
    }
    const gone = names.length - failures.length;
    if (gone) await refresh();
    if (failures.length) await ask("Not deleted", `${failures.slice(0, 5).join(". ")}.`, ["", "Close"]);
    if (gone) announce(names.length > 1 ? `${gone} files are deleted` : `${names[0]} is deleted`);
    const next = rows.find(row => nameOf(row) === nearName);
    if (next) linkOf(next).focus();
}

parts.push(() => {
    const isRemovable = row => "removable" in row.dataset;
    const archive = document.querySelector("a.archive-of");
    const files = rows.filter(row => linkOf(row) && (isRemovable(row) || archive));
    if (files.length < 2) return;
    const bar = make("div", {className: "chosen", hidden: true, role: "group"});
    bar.setAttribute("aria-label", "Chosen entries");
    const count = make("span");
    const chosen = () => files.filter(row => row.querySelector(".choice").checked && !row.hidden);
    const update = () => {
        const now = chosen();
        bar.hidden = !now.length;
        count.textContent = `${now.length} chosen`;
        all.checked = now.length === files.length;
        all.indeterminate = Boolean(now.length) && !all.checked;
        for (const row of files) row.classList.toggle("is-chosen", row.querySelector(".choice").checked);
        if (archive) {
            const url = new URL(archive.href);
            for (const row of now) url.searchParams.append("name", fileNameOf(row) + (linkOf(row).matches(".directory") ? "/" : ""));
            download.href = url;
            download.hidden = url.search.length > 6000; // servers limit the length of a request line
        }
        erase.hidden = !now.some(isRemovable);
    };
    const download = make("a", {className: "button", textContent: "Download .zip", hidden: true});
    const erase = button("Delete", () => remove(chosen().filter(isRemovable)), "danger");
    const clear = button("Clear", () => {
        for (const row of files) row.querySelector(".choice").checked = false;
        update();
        all.focus();
    });
    bar.append(count, download, erase, clear);
    const box = label => {
        const input = make("input", {type: "checkbox", className: "choice"});
        input.setAttribute("aria-label", label);
        return input;
    };
    const all = box("Choose all");
    all.addEventListener("change", () => {
        for (const row of files) if (!row.hidden) row.querySelector(".choice").checked = all.checked;
        update();
    });
    let last = null;
    for (const row of table().tBodies[0].rows) {
        const cell = make("td", {className: "pick"});
        if (files.includes(row)) {
            const input = box(`Choose ${nameOf(row)}`);
            input.addEventListener("click", event => {
                if (event.shiftKey && last) {
                    const [from, to] = [files.indexOf(last), files.indexOf(row)].sort((a, b) => a - b);
                    for (const each of files.slice(from, to + 1)) each.querySelector(".choice").checked = input.checked;
                }
                last = row;
                update();
            });
            cell.append(input);
        }
        row.prepend(cell);
    }
    table().tHead.rows[0].prepend(make("td", {className: "pick"}, all));
    document.getElementById("entries").before(bar);
});
