/** The server: started, stopped, and started again when it ends by itself. */

import * as vscode from "vscode";
import type { ServerClient } from "./client";
import { launch } from "./model/launch";
import { MOST_RESTARTS, Restarts } from "./model/restarts";
import type { MessagesChannel } from "./messagesChannel";
import * as notices from "./notices";
import { CHANGED, ENVIRONMENT, type Environment, NO_ENVIRONMENT, STATUS, type Status, TRYING } from "./protocol";
import type { Pythons } from "./pythons";
import { settings } from "./settings";

const TOGETHER = 150;

export type ServerState = "starting" | "running" | "stopped";

export class Server implements vscode.Disposable {
  readonly #states = new vscode.EventEmitter<ServerState>();
  readonly #statuses = new vscode.EventEmitter<Status>();
  readonly #environments = new vscode.EventEmitter<Environment>();
  readonly #trials = new vscode.EventEmitter<boolean>();
  readonly #changes = new vscode.EventEmitter<void>();
  readonly onState = this.#states.event;
  readonly onStatus = this.#statuses.event;
  readonly onEnvironment = this.#environments.event;
  /** Whether fixes are being tried in the background. */
  readonly onTrying = this.#trials.event;
  readonly onChanged = this.#changes.event;
  readonly #restarts = new Restarts();
  #client: ServerClient | undefined;
  #work: Promise<void> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(
    private readonly bundle: string,
    private readonly pythons: Pythons,
    private readonly log: vscode.LogOutputChannel,
    private readonly messages: MessagesChannel,
  ) {}

  /** Start, or start anew because the user or a setting wants it so. */
  restart(): Promise<void> {
    this.#restarts.forget();
    return this.#enqueue(async () => {
      await this.#stop();
      await this.#start();
    });
  }

  /** The same, a little later: trust brings settings with it, and one change may come as several events. */
  restartSoon(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.restart(), TOGETHER);
  }

  /** Stop for good. Nothing of the server is left when this is done. */
  stop(): Promise<void> {
    this.#closed = true;
    return this.#enqueue(() => this.#stop());
  }

  /** Ask the server; undefined when there is none, or when it cannot answer (the log says why). */
  async request<T>(method: string, parameters: unknown): Promise<T | undefined> {
    await this.#work;
    try {
      return await this.#client?.sendRequest<T>(method, parameters);
    } catch (error) {
      this.log.warn(`${method}: ${String(error)}`);
      return undefined;
    }
  }

  /** Tell the server something, if there is one. */
  async notify(method: string, parameters: unknown): Promise<void> {
    await this.#work;
    await this.#client?.sendNotification(method, parameters).catch((error: unknown) => { this.log.warn(`${method}: ${String(error)}`); });
  }

  command(name: string, ...parameters: unknown[]): Promise<unknown> {
    return this.request("workspace/executeCommand", { command: name, arguments: parameters });
  }

  dispose(): void {
    for (const emitter of [this.#states, this.#statuses, this.#environments, this.#trials, this.#changes]) {
      emitter.dispose();
    }
  }

  /** One start or stop at a time, in the order they were asked for. */
  #enqueue(work: () => Promise<void>): Promise<void> {
    const next = this.#work.then(work).catch((error: unknown) => { this.log.error(String(error)); });
    this.#work = next;
    return next;
  }

  async #start(): Promise<void> {
    if (this.#closed) {
      return;
    }
    this.#states.fire("starting");
    const python = await this.pythons.forServer();
    if (python === undefined) {
      this.#states.fire("stopped");
      void notices.noPython(settings.interpreter());
      return;
    }
    let ended = (): void => undefined;
    const end = new Promise<void>((resolve) => { ended = resolve; });
    const client = await this.#create(python, ended);
    this.#client = client;
    this.#restarts.started();
    try {
      // A client whose server ends while it starts may wait for ever.
      await Promise.race([client.start(), end]);
    } catch (error) {
      this.log.error(`The server did not start: ${String(error)}`);
      this.#died(client);
    }
    if (this.#client === client) {
      this.#states.fire("running");
    }
  }

  async #create(python: string, ended: () => void): Promise<ServerClient> {
    const { ServerClient } = await import("./client");
    const start = launch(python, settings.importStrategy(), this.bundle);
    this.log.info(`Starting ${[start.command, ...start.args].join(" ")}`);
    const client: ServerClient = new ServerClient({
      launch: start,
      log: this.log,
      messages: this.messages.asLogChannel(),
      interpreter: await this.pythons.forWorker(vscode.workspace.workspaceFolders?.[0]?.uri),
      interpreterOf: (scope) => this.pythons.forWorker(scope),
      died: () => {
        ended();
        this.#died(client);
      },
    });
    client.onNotification(STATUS, (status: Status) => { this.#statuses.fire(status); });
    client.onNotification(ENVIRONMENT, (environment: Environment) => { this.#environments.fire(environment); });
    client.onNotification(TRYING, ({ trying }: { trying: boolean }) => { this.#trials.fire(trying); });
    client.onNotification(CHANGED, () => { this.#changes.fire(); });
    client.onNotification(NO_ENVIRONMENT, ({ message }: { message: string }) => void notices.noTorch(message));
    return client;
  }

  async #stop(): Promise<void> {
    clearTimeout(this.#timer);
    const client = this.#client;
    this.#client = undefined;
    if (client !== undefined) {
      this.#states.fire("stopped");
      await client.end();
    }
  }

  #died(client: ServerClient): void {
    if (this.#client !== client) {
      return; // it was told to stop, or its end has been dealt with
    }
    this.#client = undefined;
    this.#states.fire("stopped");
    void client.end();
    const pause = this.#closed ? undefined : this.#restarts.next();
    if (pause !== undefined) {
      this.log.warn(`The server ended by itself. It is started again in ${pause / 1000} s.`);
      this.#timer = setTimeout(() => void this.#enqueue(() => this.#start()), pause);
    } else if (!this.#closed) {
      void notices.gaveUp(MOST_RESTARTS);
    }
  }
}
