/** Everything the server knows, fetched anew whenever it says that this has changed. All views are drawn from here. */

import * as vscode from "vscode";
import { normalised } from "./model/normalised";
import { REPORT, type Report } from "./protocol";
import type { Server } from "./server";

/** A trace is told of in several notifications that come together. */
const TOGETHER = 60;

export class Reports implements vscode.Disposable {
  readonly #changed = new vscode.EventEmitter<void>();
  readonly onDidChange = this.#changed.event;
  readonly #subscriptions: vscode.Disposable[];
  #all: readonly Report[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(private readonly server: Server) {
    this.#subscriptions = [
      server.onChanged(() => { this.#soon(); }),
      server.onState((state) => { if (state === "stopped") { this.#set([]); } }),
    ];
  }

  get all(): readonly Report[] {
    return this.#all;
  }

  dispose(): void {
    clearTimeout(this.#timer);
    vscode.Disposable.from(...this.#subscriptions, this.#changed).dispose();
  }

  #soon(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#fetch(), TOGETHER);
  }

  async #fetch(): Promise<void> {
    const answer = await this.server.request<{ reports: Report[] }>(REPORT, {});
    if (answer !== undefined) {
      this.#set(answer.reports.map((report) => normalised(report, spell)));
    }
  }

  #set(reports: readonly Report[]): void {
    this.#all = reports;
    void vscode.commands.executeCommand("setContext", "graphbreak.hasReports", reports.length > 0);
    this.#changed.fire();
  }
}

function spell(uri: string): string {
  return vscode.Uri.parse(uri).toString();
}
