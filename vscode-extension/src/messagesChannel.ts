/** The channel for the messages between the editor and the server. */

import * as vscode from "vscode";
import { onSettings, settings } from "./settings";

/**
 * The language client logs messages when its trace channel's level is Trace, which users rarely set. This one takes its level from
 * the setting `trace.server`, and is made when it is first written to.
 */
export class MessagesChannel implements vscode.Disposable {
  readonly #levels = new vscode.EventEmitter<vscode.LogLevel>();
  readonly #subscription = onSettings(["trace.server"], () => { this.#levels.fire(this.#level()); });
  #channel: vscode.LogOutputChannel | undefined;

  asLogChannel(): vscode.LogOutputChannel {
    const real = (): vscode.LogOutputChannel => this.#real();
    const level = (): vscode.LogLevel => this.#level();
    return {
      name: "Graphbreak Messages",
      get logLevel() { return level(); },
      onDidChangeLogLevel: this.#levels.event,
      trace: (message) => { real().info(message); },
      debug: (message) => { real().debug(message); },
      info: (message) => { real().info(message); },
      warn: (message) => { real().warn(message); },
      error: (message) => { real().error(message); },
      append: (text) => { real().append(text); },
      appendLine: (text) => { real().appendLine(text); },
      replace: (text) => { real().replace(text); },
      clear: () => { real().clear(); },
      // eslint-disable-next-line @typescript-eslint/no-deprecated -- the interface has both forms in one
      show: (keepFocus?: unknown) => { real().show(keepFocus === true); },
      hide: () => { real().hide(); },
      dispose: () => { this.dispose(); },
    };
  }

  dispose(): void {
    this.#subscription.dispose();
    this.#levels.dispose();
    this.#channel?.dispose();
  }

  #level(): vscode.LogLevel {
    return settings.messages() === "off" ? vscode.LogLevel.Info : vscode.LogLevel.Trace;
  }

  #real(): vscode.LogOutputChannel {
    return (this.#channel ??= vscode.window.createOutputChannel("Graphbreak Messages", { log: true }));
  }
}
