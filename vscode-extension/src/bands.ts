/** Draws the graph bands beside the lines of visible editors. */

import * as vscode from "vscode";
import { type Band, bandsOf, COLOURS } from "./model/bands";
import type { Reports } from "./reports";
import { onSettings, settings } from "./settings";

export class Bands implements vscode.Disposable {
  readonly #graphs = Array.from({ length: COLOURS }, (_, place) => graphLook(place + 1));
  readonly #eager = look("graphbreak.eager", "graphbreak.eagerBackground", "dashed");
  readonly #notReached = look("graphbreak.notReached", undefined, "dotted");
  readonly #subscriptions: vscode.Disposable[];

  constructor(private readonly reports: Reports) {
    this.#subscriptions = [
      reports.onDidChange(() => { this.#draw(); }),
      vscode.window.onDidChangeVisibleTextEditors(() => { this.#draw(); }),
      onSettings(["bands"], () => { this.#draw(); }),
    ];
  }

  dispose(): void {
    vscode.Disposable.from(...this.#subscriptions, ...this.#all()).dispose();
  }

  #draw(): void {
    const python = vscode.window.visibleTextEditors.filter(({ document }) => document.languageId === "python");
    for (const editor of python) {
      this.#drawIn(editor, settings.bands() ? bandsOf(editor.document.uri.toString(), this.reports.all) : []);
    }
  }

  #drawIn(editor: vscode.TextEditor, bands: readonly Band[]): void {
    const last = editor.document.lineCount - 1;
    const shown = bands.filter((band) => band.end <= last);
    for (const type of this.#all()) {
      editor.setDecorations(type, shown.filter((band) => this.#typeOf(band) === type).flatMap((band) => decorations(band, editor.document)));
    }
  }

  #typeOf({ look, colour }: Band): vscode.TextEditorDecorationType | undefined {
    switch (look) {
      case "graph":
        return this.#graphs[colour];
      case "eager":
        return this.#eager;
      case "not-reached":
        return this.#notReached;
    }
  }

  #all(): vscode.TextEditorDecorationType[] {
    return [...this.#graphs, this.#eager, this.#notReached];
  }
}

function graphLook(number: number): vscode.TextEditorDecorationType {
  return look(`graphbreak.graph${number}`, `graphbreak.graph${number}Background`, "solid");
}

/** The kind of line tells the looks apart where colours do not: in high contrast, and for those who see them differently. */
function look(bar: string, background: string | undefined, line: string): vscode.TextEditorDecorationType {
  return vscode.window.createTextEditorDecorationType({
    isWholeLine: true,
    borderColor: new vscode.ThemeColor(bar),
    borderStyle: `none none none ${line}`,
    borderWidth: "0 0 0 3px",
    ...(background === undefined ? {} : { backgroundColor: new vscode.ThemeColor(background) }),
    rangeBehavior: vscode.DecorationRangeBehavior.ClosedClosed,
  });
}

/** The first line carries the label; the legend is on every line. */
function decorations(band: Band, document: vscode.TextDocument): vscode.DecorationOptions[] {
  const hoverMessage = new vscode.MarkdownString(band.legend);
  hoverMessage.isTrusted = { enabledCommands: ["graphbreak.showGraphs"] };
  const lines = Array.from({ length: band.end - band.start + 1 }, (_, offset) => document.lineAt(band.start + offset).range);
  return lines.map((range, offset) => ({ range, hoverMessage, ...(offset === 0 ? labelled(band.label) : {}) }));
}

function labelled(label: string): Pick<vscode.DecorationOptions, "renderOptions"> {
  if (label === "" || !settings.bandLabels()) {
    return {};
  }
  const color = new vscode.ThemeColor("graphbreak.bandLabel");
  return { renderOptions: { after: { contentText: label, color, fontStyle: "italic", margin: "0 0 0 3em" } } };
}
