/** Runs inside the graph view: sends clicks to the extension, and exchanges the content when it sends a new one. */

interface Host {
  postMessage(message: unknown): void;
}

declare function acquireVsCodeApi(): Host;

const host = acquireVsCodeApi();

window.addEventListener("message", ({ data }: MessageEvent<{ html?: unknown }>) => {
  const content = document.getElementById("content");
  if (content !== null && typeof data.html === "string") {
    content.innerHTML = data.html;
  }
});

document.addEventListener("click", ({ target }) => {
  const clicked = target instanceof Element ? target.closest<HTMLElement>("button") : null;
  const { uri, line, character, rule, action } = clicked?.dataset ?? {};
  if (uri !== undefined) {
    host.postMessage({ type: "open", uri, line: Number(line), character: Number(character) });
  } else if (rule !== undefined) {
    host.postMessage({ type: "rule", code: rule });
  } else if (action !== undefined) {
    host.postMessage({ type: action });
  }
});

host.postMessage({ type: "ready" });
