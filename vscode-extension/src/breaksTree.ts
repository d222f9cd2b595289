/** The tree *Graph breaks*. */

import * as vscode from "vscode";
import { breakCount, type Grouping, type Node, tree } from "./model/tree";
import { count } from "./model/words";
import { toRange } from "./places";
import type { Reports } from "./reports";
import { readLines } from "./texts";

const MEMORY = "graphbreak.grouping";

export class BreaksTree implements vscode.TreeDataProvider<Node>, vscode.Disposable {
  readonly #changed = new vscode.EventEmitter<void>();
  readonly onDidChangeTreeData = this.#changed.event;
  readonly #view: vscode.TreeView<Node>;
  readonly #subscription: vscode.Disposable;
  #grouping: Grouping;

  constructor(private readonly reports: Reports, private readonly memory: vscode.Memento) {
    this.#grouping = memory.get<Grouping>(MEMORY, "cause");
    this.#view = vscode.window.createTreeView("graphbreak.breaks", { treeDataProvider: this });
    this.#subscription = reports.onDidChange(() => { this.#refresh(); });
    this.#refresh();
  }

  group(grouping: Grouping): void {
    this.#grouping = grouping;
    void this.memory.update(MEMORY, grouping);
    this.#refresh();
  }

  async getChildren(node?: Node): Promise<Node[]> {
    return [...(node?.children ?? (await this.#roots()))];
  }

  getTreeItem(node: Node): vscode.TreeItem {
    const item = new vscode.TreeItem(node.label, collapsible(node));
    item.id = `${this.#grouping} ${node.id}`;
    item.description = node.description;
    item.tooltip = node.tooltip;
    item.contextValue = node.type;
    item.iconPath = new vscode.ThemeIcon(node.icon, node.colour === undefined ? undefined : new vscode.ThemeColor(node.colour));
    if (node.target !== undefined) {
      const { uri, range } = node.target;
      item.command = { command: "vscode.open", title: "Open", arguments: [vscode.Uri.parse(uri), { selection: toRange(range), preserveFocus: true }] };
    }
    return item;
  }

  dispose(): void {
    vscode.Disposable.from(this.#subscription, this.#view, this.#changed).dispose();
  }

  async #roots(): Promise<Node[]> {
    const texts = await readLines(this.reports.all.flatMap((report) => report.diagnostics.map(({ uri }) => uri)));
    return tree(this.reports.all, this.#grouping, (uri, line) => texts.get(uri)?.[line]);
  }

  #refresh(): void {
    void vscode.commands.executeCommand("setContext", MEMORY, this.#grouping);
    const breaks = breakCount(this.reports.all);
    this.#view.badge = breaks === 0 ? undefined : { value: breaks, tooltip: count(breaks, "graph break") };
    this.#view.description = `by ${this.#grouping}`;
    this.#changed.fire();
  }
}

function collapsible(node: Node): vscode.TreeItemCollapsibleState {
  if (node.children.length === 0) {
    return vscode.TreeItemCollapsibleState.None;
  }
  return node.type === "break" ? vscode.TreeItemCollapsibleState.Collapsed : vscode.TreeItemCollapsibleState.Expanded;
}
