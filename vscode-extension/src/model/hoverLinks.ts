/** Links under the server's hover text that only this editor can follow. */

const CLI_SENTENCE = /`graphbreak rule (GB\d+)` shows an example\./g;

/** Turns the sentence for the command line into a link to the same page in the editor. */
export function withPageLinks(markdown: string): string {
  return markdown.replace(CLI_SENTENCE, (_, code: string) => `[Open the page on ${code}, with an example](${pageCommand(code)})`);
}

export function pageCommand(code: string): string {
  return `command:graphbreak.showRule?${encodeURIComponent(JSON.stringify([code]))}`;
}
