/** The graph view: one panel, which shows one function and follows it from trace to trace. */

import { randomBytes } from "node:crypto";
import * as vscode from "vscode";
import { chain } from "./model/chain";
import { type Choice, functionNamed } from "./model/functions";
import { body, frame } from "./model/graphPage";
import { open } from "./places";
import type { Reports } from "./reports";
import { readLines } from "./texts";

/** What the page's script sends when something is clicked. Mirrored in `webview/graphView.ts`. */
type Click =
  | { readonly type: "open"; readonly uri: string; readonly line: number; readonly character: number }
  | { readonly type: "rule"; readonly code: string }
  | { readonly type: "explain" }
  /** The page was loaded, perhaps again: a hidden one is thrown away by the editor, and begins with its first content. */
  | { readonly type: "ready" }
  | { readonly type: "trace" };

export class GraphPanel implements vscode.Disposable {
  readonly #subscription: vscode.Disposable;
  #panel: vscode.WebviewPanel | undefined;
  #shown: { readonly uri: string; readonly name: string } | undefined;

  constructor(private readonly reports: Reports, private readonly dist: vscode.Uri) {
    this.#subscription = reports.onDidChange(() => void this.#refresh());
  }

  async show(uri: string, name: string): Promise<void> {
    this.#shown = { uri, name };
    if (this.#panel === undefined) {
      this.#panel = this.#create();
      this.#panel.webview.html = this.#page(await this.#body());
    } else {
      this.#panel.reveal(undefined, true);
    }
    await this.#refresh();
  }

  dispose(): void {
    this.#subscription.dispose();
    this.#panel?.dispose();
  }

  #create(): vscode.WebviewPanel {
    const place = { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true };
    const panel = vscode.window.createWebviewPanel("graphbreak.graphs", "Graphs", place, { enableScripts: true, localResourceRoots: [this.dist] });
    panel.iconPath = vscode.Uri.joinPath(this.dist, "..", "media", "icon.png");
    panel.webview.onDidReceiveMessage((click: Click) => void this.#clicked(click));
    panel.onDidDispose(() => { this.#panel = undefined; });
    return panel;
  }

  #page(content: string): string {
    const webview = this.#panel?.webview;
    const script = webview?.asWebviewUri(vscode.Uri.joinPath(this.dist, "graphView.js")).toString() ?? "";
    return frame(content, script, randomBytes(16).toString("base64url"));
  }

  /** The content is exchanged inside the page, which keeps its place that way. */
  async #refresh(): Promise<void> {
    if (this.#panel !== undefined && this.#shown !== undefined) {
      this.#panel.title = `Graphs: ${this.#shown.name}`;
      await this.#panel.webview.postMessage({ html: await this.#body() });
    }
  }

  async #body(): Promise<string> {
    const choice = this.#choice();
    if (choice === undefined) {
      return body(this.#shown?.name ?? "", undefined);
    }
    const texts = await readLines(filesOf(choice));
    return body(choice.traced.name, { ...choice, chain: chain(choice.traced, choice.report, (uri, line) => texts.get(uri)?.[line]) });
  }

  async #clicked(click: Click): Promise<void> {
    switch (click.type) {
      case "open": {
        const at = new vscode.Position(click.line, click.character);
        return open(vscode.Uri.parse(click.uri), new vscode.Range(at, at));
      }
      case "ready":
        return this.#refresh();
      case "rule":
        return vscode.commands.executeCommand("graphbreak.showRule", click.code);
      case "explain":
        return vscode.commands.executeCommand("graphbreak.explain", this.#shown?.uri, this.#shown?.name);
      case "trace":
        return vscode.commands.executeCommand("graphbreak.traceFile", this.#choice()?.report.uri ?? this.#shown?.uri);
    }
  }

  /** What is shown now. It may have been traced through the program of another file. */
  #choice(): Choice | undefined {
    return this.#shown && functionNamed(this.reports.all, this.#shown.uri, this.#shown.name);
  }
}

/** Every file that the function's operations and breaks are in. */
function filesOf({ traced, report }: Choice): string[] {
  const operations = traced.graphList.flatMap((graph) => graph.ops.flatMap(({ uri }) => uri ?? []));
  return [...operations, ...report.diagnostics.map(({ uri }) => uri)];
}
