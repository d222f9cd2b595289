/** The read-only documents: offline pages on kinds of breaks, and what PyTorch tells of a function. */

import * as vscode from "vscode";
import { fromQuery, type Page, SCHEME, toParts } from "./model/pageUris";
import { EXPLAIN, type Detail, type Explanation, RULE } from "./protocol";
import type { Server } from "./server";

export const REPORT_PAGE = "explain report";
const EVERYTHING: readonly Detail[] = ["graphs", "guards", "bytecode", "decompiled"];

export class Pages implements vscode.TextDocumentContentProvider, vscode.Disposable {
  readonly #changed = new vscode.EventEmitter<vscode.Uri>();
  readonly onDidChange = this.#changed.event;
  readonly #registration = vscode.workspace.registerTextDocumentContentProvider(SCHEME, this);
  readonly #texts = new Map<string, string>();

  constructor(private readonly server: Server) {}

  async provideTextDocumentContent(uri: vscode.Uri): Promise<string> {
    const page = fromQuery(uri.query);
    if (page === undefined) {
      return "";
    }
    return page.type === "rule" ? this.#rule(page.code) : (this.#texts.get(uri.toString()) ?? this.#again(page, uri));
  }

  /** Opens the page on a kind of break, rendered where the editor can render Markdown. */
  async showRule(code: string): Promise<void> {
    const uri = toUri({ type: "rule", code });
    this.#changed.fire(uri);
    try {
      await vscode.commands.executeCommand("markdown.showPreview", uri);
    } catch {
      await vscode.window.showTextDocument(uri, { preview: true });
    }
  }

  /** Opens one text of an explanation. */
  async showText(uri: string, name: string, artifact: string, text: string): Promise<void> {
    const page = toUri({ type: "explain", uri, name, artifact });
    this.#texts.set(page.toString(), text);
    this.#changed.fire(page);
    await vscode.window.showTextDocument(page, { preview: true });
  }

  dispose(): void {
    vscode.Disposable.from(this.#registration, this.#changed).dispose();
  }

  async #rule(code: string): Promise<string> {
    const answer = await this.server.request<{ markdown: string }>(RULE, { code });
    return answer?.markdown ?? `# ${code}\n\nGraphbreak's server is not running, so there is nothing to show here.`;
  }

  /** The page was open when the window was closed: its text is gone, and is asked for again. */
  async #again(page: Page & { type: "explain" }, uri: vscode.Uri): Promise<string> {
    const answer = await this.server.request<Explanation>(EXPLAIN, { uri: page.uri, name: page.name, details: EVERYTHING });
    const artifact = answer?.artifacts.find((one) => artifactName(one.name, one.compileId) === page.artifact);
    const text = page.artifact === REPORT_PAGE ? answer?.report : artifact?.text;
    if (text !== undefined) {
      this.#texts.set(uri.toString(), text);
    }
    return text ?? answer?.problem ?? "";
  }
}

export function artifactName(name: string, compileId: string): string {
  return compileId === "" ? name : `${name} ${compileId}`;
}

function toUri(page: Page): vscode.Uri {
  return vscode.Uri.from({ scheme: SCHEME, ...toParts(page) });
}
