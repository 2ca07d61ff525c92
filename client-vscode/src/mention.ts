/** Mentions: the words in a prompt that bring a file along; knows no editor. */

/** Lines of a file, from 1, both included. */
export interface Lines {
  readonly first: number;
  readonly last: number;
}

/** A selection as editors count it, from 0. */
export interface Selected {
  readonly start: { readonly line: number };
  readonly end: { readonly line: number; readonly character: number };
  readonly isEmpty: boolean;
}

/** Return the lines that a selection touches; null where nothing is selected. */
export function linesOf({ start, end, isEmpty }: Selected): Lines | null {
  if (isEmpty) return null;
  const last = end.character === 0 ? end.line : end.line + 1; // a line of which nothing is selected
  return { first: start.line + 1, last };
}

/** Return the mention of a file, or of lines of it; a folder's path ends in a slash. */
export function mentionOf(path: string, lines: Lines | null): string {
  const name = PLAIN.test(path) && !path.endsWith(".") ? path : `"${path}"`;
  return lines === null ? `@${name}` : `@${name}:${lines.first}-${lines.last}`;
}

/** What needs no quotes: nothing in it could be the sentence's own. */
const PLAIN = /^[\p{L}\p{N}_./~+%-]+$/u;

/** Return a prompt with a mention at its end, ready to be written on. */
export function withMention(prompt: string, mention: string): string {
  const gap = prompt === "" || /\s$/.test(prompt) ? "" : " ";
  return `${prompt}${gap}${mention} `;
}
