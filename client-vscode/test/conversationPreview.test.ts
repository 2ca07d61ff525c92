import assert from "node:assert/strict";
import { test } from "node:test";
import MarkdownItLibrary from "markdown-it";
import { APPROVAL_SCHEME, CONVERSATION_SCHEME, extendMarkdownIt } from "../src/conversationPreview";
import type { MarkdownIt } from "../src/conversationPreview";
import { folded } from "../src/markdownText";

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

test("folded text is Markdown behind a line that opens, and no safer or less safe than the rest", () => {
  const html = render(folded("A <b> `title`", "**Bold** <img src=x>"), CONVERSATION_SCHEME);
  assert.match(
    html,
    /<details class="agentls-fold"><summary>A &lt;b&gt; title<\/summary><p><strong>Bold<\/strong> &lt;img src=x&gt;<\/p>\n<\/details>/,
  );
  assert.equal(html.match(/agentls-conversation/g)?.length, 1);
});

test("a fold in a fold, and an open code block in one, end where they should", () => {
  const inner = folded("Inner", "```py\nx = 1");
  const html = render(`${folded("Outer", inner)}\n\nAfter`, CONVERSATION_SCHEME);
  assert.equal(html.match(/<details/g)?.length, 2);
  assert.match(html, /<\/details>\n<\/details>\n<p>After<\/p>/);
});

test("other code blocks, and folds of other documents, stay code", () => {
  assert.match(render("```py\nx\n```", CONVERSATION_SCHEME), /<code class="language-py">x\n<\/code>/);
  assert.doesNotMatch(render(folded("Title", "Text"), "file"), /<details/);
});

test("a plan that waits for approval is drawn as safely as a conversation", () => {
  assert.doesNotMatch(render("![a](https://x.test/?secret) <b>x</b>", APPROVAL_SCHEME), /<img|<b>/);
});
