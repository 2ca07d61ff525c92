import assert from "node:assert/strict";
import { test } from "node:test";
import MarkdownItLibrary from "markdown-it";
import { CONVERSATION_SCHEME, extendMarkdownIt } from "../src/conversationPreview";
import type { MarkdownIt } from "../src/conversationPreview";

function render(markdown: string, scheme: string): string {
  const library = new MarkdownItLibrary({ html: true });
  extendMarkdownIt(library as unknown as MarkdownIt);
  return library.render(markdown, { currentDocument: { scheme } });
}

test("no HTML of a conversation is passed on", () => {
  const html = render("<img src=x onerror=run()>\n\nA <b>bold</b> word.", CONVERSATION_SCHEME);
  assert.doesNotMatch(html, /<img|<b>/);
  assert.match(html, /&lt;img src=x onerror=run\(\)&gt;/);
  assert.match(html, /A &lt;b&gt;bold&lt;\/b&gt; word/);
});

test("no image of a conversation is loaded, in a link neither", () => {
  const html = render(
    "![a](https://x.test/?secret) [![b](https://y.test/)](https://z.test/)",
    CONVERSATION_SCHEME,
  );
  assert.doesNotMatch(html, /<img/);
  assert.match(html, /\[image: a\] \(https:\/\/x\.test\/\?secret\)/);
});

test("code stays as it was written", () => {
  const html = render("```html\n<img src=x>\n```", CONVERSATION_SCHEME);
  assert.match(html, /<code class="language-html">&lt;img src=x&gt;\n<\/code>/);
});

test("a conversation can be told from other documents", () => {
  assert.match(render("Hello", CONVERSATION_SCHEME), /^<div class="agentls-conversation">/);
});

test("other documents are drawn as before", () => {
  const markdown = "A <b>bold</b> ![a](a.png)\n\n<hr>";
  const plain = new MarkdownItLibrary({ html: true }).render(markdown);
  assert.equal(render(markdown, "file"), plain);
});
