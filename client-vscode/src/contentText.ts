/** What a prompt or a result holds, in words. */

import { firstLine } from "./markdownText";
import type { ContentBlock, FileBlock, QueuedPrompt } from "./protocol";
import { unreachable } from "./unreachable";

/** Return the text of a prompt or a result, with a mark where something else stands. */
export function textOf(content: readonly ContentBlock[]): string {
  return content
    .map((block) => (block.type === "text" ? block.text : `[${nameOf(block)}]`))
    .join("\n\n");
}

/** Return what was written in it, without what came with it. */
export function wordsOf(content: readonly ContentBlock[]): string {
  return content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n\n");
}

/** Return what waits in the queue, in a line of at most `length` letters or so. */
export function queuedText(item: QueuedPrompt, length: number): string {
  const said = firstLine(textOf(item.content), length);
  if (item.kind === "prompt") return said;
  return said === "" ? "Compact the conversation" : `Compact the conversation: ${said}`;
}

/** Return what came with it, as a person knows it. */
export function nameOf(block: Exclude<ContentBlock, { type: "text" }>): string {
  switch (block.type) {
    case "image":
      return `image: ${block.name ?? block.mediaType}`;
    case "document": {
      const pages = block.pages === null ? "" : `, ${block.pages} pages`;
      return `document: ${block.name ?? block.mediaType}${pages}`;
    }
    case "file":
      return `${block.what}: ${placeOf(block)}`;
    default:
      return unreachable(block, "");
  }
}

function placeOf({ what, path, symbol, firstLine, lastLine }: FileBlock): string {
  if (symbol !== null) return `${path}#${symbol}`;
  return what === "range" ? `${path}:${firstLine ?? ""}-${lastLine ?? ""}` : path;
}
