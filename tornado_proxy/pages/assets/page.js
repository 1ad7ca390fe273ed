// What the parts of the page share: elements, announcements, dialogs, and the change to another page without a reload.
"use strict";

const parts = []; // functions that prepare what a page has, on each page anew
const sources = {...document.currentScript.dataset}; // addresses of modules that are loaded when needed

function make(tag, properties = {}, ...children) {
    const element = Object.assign(document.createElement(tag), properties);
    element.append(...children);
    return element;
}

function button(textContent, onclick, className = "") {
    return make("button", {type: "button", textContent, onclick, className});
}

// Screen readers speak the text; it stays until the next one.
function announce(text) {
    const place = document.getElementById("announcement");
    if (place) place.textContent = text;
}

function humanSize(size) {
    let unit = 0;
    for (; size >= 1023.95 && unit < 4; unit++) size /= 1024;
    return unit ? `${size.toFixed(1)} ${["KiB", "MiB", "GiB", "TiB"][unit - 1]}` : `${size} B`;
}

// The rows of the listing: the links, addresses and names of its entries.
let rows = [];
const table = () => document.querySelector(".listing");
const linkOf = row => row.querySelector("th a");
const nameOf = row => row.querySelector("bdi").textContent;
// The name of the file, which is shown with signs in place of some characters.
const fileNameOf = row => decodeURIComponent(new URL(linkOf(row).href).pathname.replace(/\/$/, "").split("/").pop());
// Without the password that the address of the page may contain: `fetch` refuses it.
const addressOf = row => location.origin + new URL(linkOf(row).href).pathname;

async function reasonOf(answer) {
    if (!answer) return "the service cannot be reached";
    const error = await answer.json().catch(() => ({}));
    return error.message ?? `the service answered ${answer.status}`;
}

// Shows a dialog and resolves with the value of the button that closed it; empty for Escape.
function ask(title, content, ...choices) {
    const heading = make("h2", {id: "asked", textContent: title});
    const dialog = make("dialog", {}, heading, typeof content === "string" ? make("p", {textContent: content}) : content);
    dialog.setAttribute("aria-labelledby", "asked");
    dialog.append(make("div", {className: "choices"},
        ...choices.map(([value, label, style]) => button(label, () => dialog.close(value), style))));
    document.body.append(dialog);
    return new Promise(resolve => {
        dialog.addEventListener("close", () => { dialog.remove(); resolve(dialog.returnValue); });
        dialog.showModal();
    });
}

// Asks a reader whose session has ended to begin another one in a new tab; resolves with whether to go on.
async function signInAgain() {
    const link = make("a", {href: location.href, target: "_blank", textContent: "Sign in in a new tab"});
    const text = make("p", {}, link, ", then go on here. Nothing is lost.");
    return await ask("Your session has ended", text, ["", "Stop"], ["on", "Go on", "primary"]) === "on";
}

// A page as a document. Unlike the texts of `fetch`, it needs no parser, which Trusted Types would refuse.
function load(url) {
    return new Promise(resolve => {
        const request = new XMLHttpRequest();
        request.open("GET", url);
        request.responseType = "document";
        request.setRequestHeader("Accept", "text/html");
        request.onload = () => resolve(request.status === 200 ? request.response : null);
        request.onerror = () => resolve(null);
        request.send();
    });
}

const scriptOf = page => page?.querySelector("script[data-highlighter]")?.getAttribute("src");

// Replaces the content of the page by another one's; false if that belongs to something else.
async function show(url) {
    const page = await load(url);
    if (scriptOf(page) !== scriptOf(document)) return false;
    // A template of a theme may lack a part.
    const [here, there] = [document, page].map(each => [...each.querySelectorAll("body > header, body > main")]);
    if (there.length !== 2 || here.length !== 2) return false;
    const {activeElement} = document;
    const [tag, label] = [activeElement?.localName, labelOf(activeElement)];
    const filter = document.querySelector(".filter")?.value ?? "";
    here.forEach((part, number) => part.replaceWith(there[number]));
    document.title = page.title;
    const field = document.querySelector(".filter");
    if (field && url === location.href) field.value = filter;
    prepare();
    if (label && !activeElement.isConnected) {
        [...document.querySelectorAll(tag)].find(each => labelOf(each) === label)?.focus();
    }
    return true;
}

// What the browser remembers, if it can.
function memory(use) {
    try {
        return use(localStorage);
    } catch {
        return null;
    }
}

const labelOf = element => element?.matches("a, button, input") && (element.getAttribute("aria-label") || element.textContent);

// Shows the directory as it is now. One that has lost its last file may be no more.
async function refresh() {
    if (await show(location.href)) return;
    const entries = document.getElementById("entries");
    if (!entries) return location.reload();
    entries.replaceChildren(make("p", {className: "empty", textContent: "This directory is empty."}));
    document.querySelector(".totals")?.replaceChildren();
    prepare();
}

function prepare() {
    rows = [...document.querySelectorAll(".listing tbody tr:not(.parent)")];
    for (const part of parts) part();
}

addEventListener("DOMContentLoaded", prepare);
