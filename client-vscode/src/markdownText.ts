/** Text made safe to stand in Markdown. */

/** What the code block of a folded text names as its language; its title follows. */
export const FOLD_LANGUAGE = "agentls-fold";

/** Return one line of plain text as Markdown that reads the same. */
export function inline(text: string): string {
  return text.replace(/\s+/g, " ").trim().replace(/[\\`*_{}[\]<>()#!|~$&+\-.:]/g, escaped);
}

/** Return text as a code block that no line of it can end. */
export function fenced(text: string, language: string): string {
  const runs = text.match(/`{3,}/g) ?? [];
  const fence = "`".repeat(Math.max(3, ...runs.map((run) => run.length + 1)));
  return `${fence}${language}\n${text.replace(/\n$/, "")}\n${fence}`;
}

/** Return Markdown that the preview shows as a line, with the rest of it behind that. */
export function folded(title: string, markdown: string): string {
  const oneLine = title.replace(/[`\s]+/g, " ").trim();
  return fenced(fencesClosed(markdown.trim()), `${FOLD_LANGUAGE} ${oneLine}`);
}

/** Return Markdown with its last code block ended, so that it does not swallow what follows. */
export function fencesClosed(markdown: string): string {
  let open: string | null = null;
  for (const line of markdown.split("\n")) {
    const fence = /^ {0,3}(`{3,}|~{3,})(.*)$/.exec(line);
    const [, marks = "", rest = ""] = fence ?? [];
    if (fence === null) continue;
    if (open === null) open = marks;
    else if (marks.startsWith(open) && rest.trim() === "") open = null;
  }
  return open === null ? markdown : `${markdown}\n${open}`;
}

/** Return Markdown as a quotation. */
export function quoted(markdown: string): string {
  return markdown
    .split("\n")
    .map((line) => (line === "" ? ">" : `> ${line}`))
    .join("\n");
}

/** Return the first line of a text, cut at `length` letters. */
export function firstLine(text: string, length: number): string {
  const line = text.trim().split("\n", 1)[0] ?? "";
  const letters = Array.from(line);
  return letters.length <= length ? line : `${letters.slice(0, length - 1).join("")}…`;
}

function escaped(sign: string): string {
  return sign === "&" || sign === "<" || sign === ">" ? ENTITIES[sign] : `\\${sign}`;
}

const ENTITIES = { "&": "&amp;", "<": "&lt;", ">": "&gt;" } as const;
