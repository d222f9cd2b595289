/** The style of the graph view, in the theme's own colours and those the extension contributes. */

import { COLOURS } from "./bands";

export function graphStyle(): string {
  const colours = Array.from({ length: COLOURS }, (_, place) => graphColour(place)).join("\n");
  return `${STYLE}\n${colours}`;
}

function graphColour(place: number): string {
  const name = `--vscode-graphbreak-graph${place + 1}`;
  return `.chain > .colour${place} { border-left-color: var(${name}); background: var(${name}Background); } .colour${place} h2 { color: var(${name}); }`;
}

const STYLE = `
body { color: var(--vscode-foreground); font: var(--vscode-font-size)/1.5 var(--vscode-font-family); padding: 0 20px 24px; }
main { max-width: 760px; }
h1 { font: 600 1.35em var(--vscode-editor-font-family); margin: 18px 0 4px; overflow-wrap: anywhere; }
h2 { font-size: 1em; font-weight: 600; margin: 0 0 6px; }
h2 span, .facts, .inputs span, .where, .not-reached, .empty { color: var(--vscode-descriptionForeground); font-weight: 400; }
p { margin: 4px 0; }
code, .op { font-family: var(--vscode-editor-font-family); font-size: .95em; background: none; color: inherit; }
ol, ul { list-style: none; margin: 0; padding: 0; }
button { font: inherit; color: inherit; background: none; border: none; padding: 0; cursor: pointer; text-align: left; }
button:focus-visible { outline: 1px solid var(--vscode-focusBorder); outline-offset: 2px; }
.place:hover .source, .place:hover .where, h1 .place:hover, .not-reached .place:hover { text-decoration: underline; color: var(--vscode-textLink-activeForeground); }
.actions { margin: 10px 0 18px; }
.action { color: var(--vscode-button-secondaryForeground); background: var(--vscode-button-secondaryBackground); padding: 3px 10px; border-radius: 3px; border: 1px solid var(--vscode-button-border, var(--vscode-contrastBorder, var(--vscode-descriptionForeground))); }
.action:hover { background: var(--vscode-button-secondaryHoverBackground); }
.stale { color: var(--vscode-editorWarning-foreground); }
.chain > li { position: relative; border: 1px solid var(--vscode-panel-border, var(--vscode-contrastBorder, transparent)); border-left: 4px solid; border-radius: 4px; padding: 9px 14px 10px; margin-bottom: 22px; }
.chain > li:not(:last-child)::after { content: ""; position: absolute; left: 22px; bottom: -23px; height: 22px; border-left: 1px solid var(--vscode-descriptionForeground); }
.chain > li:not(:last-child)::before { content: ""; position: absolute; left: 19px; bottom: -22px; border: 4px solid transparent; border-top: 6px solid var(--vscode-descriptionForeground); border-bottom: 0; }
.chain > .eager { border-left: 4px dashed var(--vscode-graphbreak-eager); background: var(--vscode-graphbreak-eagerBackground); margin-left: 28px; }
.chain > .eager:not(:last-child)::after { left: -6px; } .chain > .eager:not(:last-child)::before { left: -9px; }
.eager h2 { color: var(--vscode-graphbreak-eager); }
.line { padding: 3px 0; }
.line .place { display: block; width: 100%; overflow-wrap: anywhere; }
.where { margin-right: .5em; }
.ops { margin: 3px 0 3px 1.2em; }
.op { display: inline-block; padding: 0 7px; margin: 1px 0; border-radius: 9px; border: 1px solid var(--vscode-contrastBorder, transparent); background: var(--vscode-badge-background); color: var(--vscode-badge-foreground); font-size: .85em; }
.reason { margin: 2px 0 2px 1.2em; }
.rule { color: var(--vscode-textLink-foreground); } .rule:hover { text-decoration: underline; }
`;
