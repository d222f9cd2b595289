/** Words shared by everything that is shown. */

export function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}

export function baseName(uri: string): string {
  const path = uri.split(/[?#]/, 1)[0] ?? "";
  return decode(path.slice(path.lastIndexOf("/") + 1));
}

/** Where inputs came from. A guess says that it is one wherever it is shown. */
export function origin(source: string): string {
  return source === "inferred" ? "a guess" : `from ${source}`;
}

export function firstLine(text: string): string {
  return text.trim().split("\n", 1)[0] ?? "";
}

/** The first sentence or clause of a message, to go on one line of a tree. */
export function shortened(text: string, length: number): string {
  const line = firstLine(text);
  return line.length <= length ? line : `${line.slice(0, length - 1).trimEnd()}…`;
}

export function escapeMarkdown(text: string): string {
  return text.replace(/[\\`*_{}[\]()#+\-.!<>|~$]/g, "\\$&");
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // a stray percent sign
  }
}
