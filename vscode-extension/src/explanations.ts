/** *Explain*: what PyTorch itself tells of a function, chosen from a list and opened as a document. */

import * as vscode from "vscode";
import type { Choice } from "./model/functions";
import { artifactName, type Pages, REPORT_PAGE } from "./pages";
import { type Detail, EXPLAIN, type Explanation } from "./protocol";
import type { Server } from "./server";

interface DetailItem extends vscode.QuickPickItem {
  readonly detailName: Detail | undefined;
}

const ITEMS: readonly DetailItem[] = [
  { label: "Explain report", description: "torch._dynamo.explain", detailName: undefined },
  { label: "Graph code", description: "each graph as Python", detailName: "graphs" },
  { label: "Guards", description: "what must hold for a compiled graph to be used again", detailName: "guards" },
  { label: "Bytecode", description: "before and after Dynamo", detailName: "bytecode" },
  { label: "Decompiled bytecode", description: "as Python, where depyf is installed", detailName: "decompiled" },
];

export class Explanations {
  constructor(private readonly server: Server, private readonly pages: Pages) {}

  async explain({ report, traced }: Choice): Promise<void> {
    const item = await vscode.window.showQuickPick(ITEMS, { placeHolder: `What to show of ${traced.name}` });
    if (item !== undefined) {
      await this.#show(report.uri, traced.name, item);
    }
  }

  async #show(uri: string, name: string, { label, detailName }: DetailItem): Promise<void> {
    const details = detailName === undefined ? [] : [detailName];
    const title = `Graphbreak: ${label.toLowerCase()} of ${name}`;
    const answer = await vscode.window.withProgress({ location: vscode.ProgressLocation.Window, title }, () =>
      this.server.request<Explanation>(EXPLAIN, { uri, name, details }),
    );
    if (answer === undefined || (answer.problem !== null && answer.problem !== "")) {
      void vscode.window.showWarningMessage(answer?.problem ?? "Graphbreak's server did not answer; the log says why.");
    } else if (detailName === undefined) {
      await this.pages.showText(uri, name, REPORT_PAGE, answer.report);
    } else {
      await this.#choose(uri, name, answer, label);
    }
  }

  async #choose(uri: string, name: string, { artifacts }: Explanation, label: string): Promise<void> {
    const items = artifacts.map((artifact) => ({ label: artifact.name, description: artifact.compileId, artifact }));
    const item = items.length > 1 ? await vscode.window.showQuickPick(items, { placeHolder: `${label} of ${name}` }) : items[0];
    if (item !== undefined) {
      const { name: kind, compileId, text } = item.artifact;
      await this.pages.showText(uri, name, artifactName(kind, compileId), text);
    } else if (items.length === 0) {
      void vscode.window.showInformationMessage(`PyTorch gave no ${label.toLowerCase()} for ${name}.`);
    }
  }
}
