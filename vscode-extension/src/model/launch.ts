/** How the server is started. */

export type ImportStrategy = "useBundled" | "fromEnvironment";

export interface Launch {
  readonly command: string;
  readonly args: string[];
  readonly cwd: string;
}

/**
 * The bundled server runs isolated (`-I`), so that neither the workspace nor the user's variables choose its modules; its own are
 * put on the path by `run_server.py` and not by PYTHONPATH, which the worker would inherit. An installed server is found with
 * `-m`, which searches the working directory first: that is the bundle's folder and never the workspace.
 */
export function launch(python: string, strategy: ImportStrategy, bundle: string): Launch {
  const args = strategy === "fromEnvironment" ? ["-m", "graphbreak", "server"] : ["-I", `${bundle}/run_server.py`];
  return { command: python, args, cwd: bundle };
}
