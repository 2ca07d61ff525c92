/**
 * How VS Code's Markdown preview draws a conversation.
 *
 * What stands in a conversation was written by a model that may have read anything. So no HTML of
 * it is passed on, and no image is loaded: the address of a picture can carry data away.
 */

import { FOLD_LANGUAGE } from "./markdownText";

export const CONVERSATION_SCHEME = "agentls-conversation";
/** What an approval shows: a plan is drawn like a conversation. */
export const APPROVAL_SCHEME = "agentls-approval";

interface Token {
  readonly content: string;
  readonly info: string;
  attrGet(name: string): string | null;
  attrSet(name: string, value: string): void;
}

type Rule = (
  tokens: Token[],
  index: number,
  options: unknown,
  environment: unknown,
  renderer: unknown,
) => string;

/** As much of markdown-it as is used here. */
export interface MarkdownIt {
  readonly renderer: {
    readonly rules: Record<string, Rule | undefined>;
    render(tokens: Token[], options: unknown, environment: unknown): string;
  };
  parse(markdown: string, environment: unknown): Token[];
  readonly utils: { escapeHtml(text: string): string };
}

/** Change how conversations and plans are drawn, nothing else. VS Code calls it for its preview. */
export function extendMarkdownIt<M extends MarkdownIt>(markdown: M): M {
  const escapeHtml = markdown.utils.escapeHtml;
  const asText: Rule = (tokens, index) => escapeHtml(tokens[index]?.content ?? "");
  replace(markdown, "html_block", asText);
  replace(markdown, "html_inline", asText);
  replace(markdown, "image", (tokens, index) => {
    const token = tokens[index];
    const address = token?.attrGet("data-src") ?? token?.attrGet("src") ?? "";
    return escapeHtml(`[image: ${token?.content ?? ""}] (${address})`);
  });
  fold(markdown);
  wrapWhole(markdown);
  return markdown;
}

function replace(markdown: MarkdownIt, name: string, rule: Rule): void {
  const rules = markdown.renderer.rules;
  const original = rules[name];
  rules[name] = (tokens, index, options, environment, renderer) => {
    if (isConversation(environment)) return rule(tokens, index, options, environment, renderer);
    return original?.(tokens, index, options, environment, renderer) ?? "";
  };
}

/** Draw folded text as a line that opens, its Markdown by the same rules as the rest. */
function fold(markdown: MarkdownIt): void {
  const { rules } = markdown.renderer;
  const asCode = rules["fence"];
  const render = markdown.renderer.render.bind(markdown.renderer);
  replace(markdown, "fence", (tokens, index, options, environment, renderer) => {
    const token = tokens[index];
    const [language, ...title] = (token?.info ?? "").trim().split(" ");
    if (token === undefined || language !== FOLD_LANGUAGE) {
      return asCode?.(tokens, index, options, environment, renderer) ?? "";
    }
    const inner = markdown.parse(token.content, environment);
    standAt(inner, token.attrGet("data-line"));
    const summary = markdown.utils.escapeHtml(title.join(" "));
    const body = render(inner, options, environment);
    return `<details class="agentls-fold"><summary>${summary}</summary>${body}</details>\n`;
  });
}

/** The editor scrolls by the lines that tokens bear: those inside a fold are all at its line. */
function standAt(tokens: readonly Token[], line: string | null): void {
  for (const token of tokens) {
    if (line !== null && token.attrGet("data-line") !== null) token.attrSet("data-line", line);
  }
}

/** Style sheet and script of the preview know a conversation by this element. */
function wrapWhole(markdown: MarkdownIt): void {
  const renderer = markdown.renderer;
  const original = renderer.render.bind(renderer);
  renderer.render = (tokens, options, environment) => {
    const html = original(tokens, options, environment);
    return isConversation(environment) ? `<div class="agentls-conversation">${html}</div>` : html;
  };
}

function isConversation(environment: unknown): boolean {
  if (typeof environment !== "object" || environment === null) return false;
  if (!("currentDocument" in environment)) return false;
  const document = environment.currentDocument;
  if (typeof document !== "object" || document === null || !("scheme" in document)) return false;
  return document.scheme === CONVERSATION_SCHEME || document.scheme === APPROVAL_SCHEME;
}
