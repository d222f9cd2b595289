/** The settings that go to the server: those it knows, without what is only for the editor. */

const FOR_SERVER = ["run", "timeout", "device", "sandbox", "tryFixes", "ignore", "severity"] as const;

/** The answer to `workspace/configuration` for one folder. An interpreter is only sent where somebody has named one. */
export function forServer(settings: Readonly<Record<string, unknown>>, interpreter: string | undefined): Record<string, unknown> {
  const sent: Record<string, unknown> = {};
  for (const key of FOR_SERVER) {
    if (settings[key] !== undefined && settings[key] !== null) {
      sent[key] = settings[key];
    }
  }
  const lens = enabled(settings["lens"]);
  return { ...sent, ...(lens === undefined ? {} : { lens }), ...(interpreter === undefined ? {} : { interpreter }) };
}

function enabled(group: unknown): boolean | undefined {
  const value = typeof group === "object" && group !== null && "enable" in group ? group.enable : undefined;
  return typeof value === "boolean" ? value : undefined;
}
