/** One entry in the status bar, and the language status of Python files. */

import * as vscode from "vscode";
import { environmentWords, type Facts, type State, statusMarkdown, STATUS_COMMANDS, statusWords, torchWords } from "./model/statusWords";
import { breakCount } from "./model/tree";
import type { Environment, Status as TraceStatus } from "./protocol";
import type { Reports } from "./reports";
import type { Server, ServerState } from "./server";

const SHOW_LOGS: vscode.Command = { command: "graphbreak.showLogs", title: "Show logs" };
const CANCEL: vscode.Command = { command: "graphbreak.cancelTrace", title: "Cancel" };
const PYTHON: vscode.DocumentSelector = { language: "python" };

export class Status implements vscode.Disposable {
  readonly #bar = vscode.window.createStatusBarItem("graphbreak.status", vscode.StatusBarAlignment.Right, 90);
  readonly #trace = vscode.languages.createLanguageStatusItem("graphbreak.trace", PYTHON);
  readonly #environmentItem = vscode.languages.createLanguageStatusItem("graphbreak.environment", PYTHON);
  readonly #subscriptions: vscode.Disposable[];
  readonly #tracing = new Set<string>();
  #server: ServerState = "starting";
  #failure: string | undefined;
  #trying = false;
  #environment: Environment | undefined;

  constructor(server: Server, private readonly reports: Reports) {
    this.#bar.name = "Graphbreak";
    this.#bar.command = "graphbreak.showMenu";
    this.#trace.name = "Graphbreak";
    this.#environmentItem.name = "Graphbreak: environment";
    this.#environmentItem.command = { command: "graphbreak.openSettings", title: "Settings" };
    this.#subscriptions = [
      server.onState((state) => { this.#served(state); }),
      server.onStatus((status) => { this.#traced(status); }),
      server.onEnvironment((environment) => { this.#environment = environment; this.#show(); }),
      server.onTrying((trying) => { this.#trying = trying; this.#show(); }),
      reports.onDidChange(() => { this.#show(); }),
      vscode.window.onDidChangeActiveTextEditor(() => { this.#show(); }),
    ];
    this.#show();
  }

  dispose(): void {
    vscode.Disposable.from(...this.#subscriptions, this.#bar, this.#trace, this.#environmentItem).dispose();
  }

  #served(state: ServerState): void {
    this.#server = state;
    this.#tracing.clear();
    this.#failure = undefined;
    this.#trying = false;
    this.#show();
  }

  #traced({ uri, state, message }: TraceStatus): void {
    if (state === "tracing") {
      this.#tracing.add(uri);
    } else {
      this.#tracing.delete(uri);
      this.#failure = state === "failed" ? message : undefined;
    }
    this.#show();
  }

  #state(): State {
    if (this.#server !== "running") {
      return this.#server;
    }
    if (!vscode.workspace.isTrusted) {
      return "restricted";
    }
    return this.#tracing.size > 0 ? "tracing" : this.#failure === undefined ? "idle" : "failed";
  }

  #show(): void {
    const state = this.#state();
    void vscode.commands.executeCommand("setContext", "graphbreak.tracing", state === "tracing");
    const environment = this.#environment ?? this.reports.all[0]?.environment;
    const functions = this.reports.all.flatMap((report) => report.functions);
    const traced = functions.filter(({ outcome }) => outcome === "traced").length;
    const breaks = breakCount(this.reports.all);
    this.#draw({ state, message: this.#failure ?? "", environment, breaks, traced, notTraced: functions.length - traced, trying: this.#trying });
  }

  #draw(facts: Facts): void {
    const words = statusWords(facts);
    this.#bar.text = words.bar;
    this.#bar.tooltip = tooltip(statusMarkdown(words, facts.state));
    this.#bar.backgroundColor = words.severity === "plain" ? undefined : new vscode.ThemeColor(`statusBarItem.${words.severity}Background`);
    this.#trace.text = words.headline;
    this.#trace.busy = facts.state === "tracing" || facts.state === "starting";
    this.#trace.severity = severity(words.severity);
    this.#trace.command = facts.state === "tracing" ? CANCEL : SHOW_LOGS;
    this.#drawEnvironment(facts.environment);
    if (relevant()) {
      this.#bar.show();
    } else {
      this.#bar.hide();
    }
  }

  #drawEnvironment(environment: Environment | undefined): void {
    this.#environmentItem.text = environment === undefined ? "Not traced yet" : torchWords(environment);
    this.#environmentItem.detail = environmentWords(environment).slice(1).join(" · ");
  }
}

function tooltip(markdown: string): vscode.MarkdownString {
  const text = new vscode.MarkdownString(markdown);
  text.isTrusted = { enabledCommands: STATUS_COMMANDS };
  return text;
}

function severity(of: "plain" | "warning" | "error"): vscode.LanguageStatusSeverity {
  const { Information, Warning, Error } = vscode.LanguageStatusSeverity;
  return of === "plain" ? Information : of === "warning" ? Warning : Error;
}

/** The entry is for those who look at Python; others need the room. */
function relevant(): boolean {
  return vscode.window.visibleTextEditors.some(({ document }) => document.languageId === "python");
}
