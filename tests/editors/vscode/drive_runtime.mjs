// Plays what makes long work bearable: retries, questions, tasks, the queue, plans, compaction.
//
// What the model answers stands in the scenario of test_vscode_runtime.py. See workbench.mjs.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  closeToast,
  command,
  conversation,
  conversationText,
  drive,
  openFile,
  openPlan,
  openWorkspace,
  page,
  pressOn,
  prompt,
  quickButton,
  quickInput,
  shot,
  status,
  statusItem,
  step,
  toastButton,
  toasts,
  viewRows,
  workspace,
} from "./workbench.mjs";

const rows = quickInput.locator(".monaco-list-row");
const input = quickInput.locator("input.input");
const title = quickInput.locator(".quick-input-title");

async function run() {
  await step("retry", async () => {
    await openWorkspace();
    await status("Idle");
    await openFile("notes.txt");
    await prompt("Are you there?");
    const counted = await status("again in");
    const waiting = await conversationText("trying again at");
    await shot("1-retry");
    const over = await conversationText("I am here.");
    await status("Idle");
    await conversation().locator("summary", { hasText: "Thought" }).click();
    await shot("2-thought");
    return { counted, waiting, over };
  });

  await step("questions", async () => {
    await openPlan();
    await prompt("Which tests?");
    const toast = toasts.filter({ hasText: "Which database" });
    await toastButton(toast, "Answer").waitFor();
    const waiting = await status("Waiting for an answer");
    const asked = await conversationText("waiting for your answer");
    await viewRows("Waiting for You").first().waitFor();
    await shot("3-question");
    await toastButton(toast, "Answer").click();
    await title.filter({ hasText: "Database · 1 of 2" }).waitFor();
    await shot("4-first-question");
    await page.keyboard.press("Escape"); // no answer: it stays open
    await viewRows("Waiting for You").first().click();
    await rows.filter({ hasText: "SQLite" }).first().click();
    await title.filter({ hasText: "Scope · 2 of 2" }).waitFor();
    await quickButton("Back").click();
    await title.filter({ hasText: "Database · 1 of 2" }).waitFor();
    await rows.filter({ hasText: "SQLite" }).first().click();
    await title.filter({ hasText: "Scope · 2 of 2" }).waitFor();
    await rows.filter({ hasText: "Reading" }).first().click();
    await rows.filter({ hasText: "Other" }).first().click();
    await shot("5-second-question");
    await page.keyboard.press("Enter");
    await input.and(page.locator('[placeholder="Your answer"]')).waitFor();
    await input.fill("locks");
    await page.keyboard.press("Enter");
    const answered = await conversationText("Reading, locks");
    await status("Idle");
    await shot("6-answered");
    return { waiting, asked, answered };
  });

  await step("task", async () => {
    await prompt("Start the server");
    await toastButton(toasts.filter({ hasText: "seq 1 600" }), "Allow").click();
    await conversationText("It runs.");
    const row = viewRows("Background Tasks").first();
    await row.waitFor();
    await shot("7-task");
    await pressOn(row, "Show the Output of a Task");
    await page.locator(".view-line", { hasText: /^line.30$/ }).waitFor(); // more than there was at first
    await shot("8-task-output");
    const running = await row.innerText();
    await pressOn(row, "Stop a Task");
    await row.filter({ hasText: "stopped" }).waitFor();
    await shot("9-task-stopped");
    return { running, stopped: await row.innerText() };
  });

  await step("queue", async () => {
    await prompt("Work for a while");
    await toastButton(toasts.filter({ hasText: "until" }), "Allow").click();
    await status("until");
    await prompt("And then the docs");
    await viewRows("Queue").filter({ hasText: "And then the docs" }).waitFor();
    await prompt("Never mind");
    const unwanted = viewRows("Queue").filter({ hasText: "Never mind" });
    await unwanted.waitFor();
    await command("Agent: Send a Prompt");
    await title.filter({ hasText: "Send a Prompt" }).waitFor();
    await input.fill("Use tabs");
    await shot("10-queue-or-steer");
    await quickButton("Steer the Running Turn").click();
    await viewRows("Queue").filter({ hasText: "Use tabs" }).waitFor();
    const queue = await viewRows("Queue").allInnerTexts();
    await shot("11-queue");
    await pressOn(unwanted, "Remove from the Queue");
    await unwanted.waitFor({ state: "detached" });
    await command("Agent: Show the Conversation");
    const queued = await conversationText("Steers the turn:");
    writeFileSync(join(workspace, "go"), ""); // what the command waits for
    const text = await conversationText("The docs are done.");
    await status("Idle");
    await shot("12-queue-done");
    return { queue, queued, text };
  });

  await step("plan", async () => {
    await prompt("Plan it");
    const toast = toasts.filter({ hasText: "Leave plan mode" });
    await toastButton(toast, "Keep planning").waitFor();
    await page.locator(".tab", { hasText: "Plan.md" }).waitFor();
    await shot("13-plan");
    await toastButton(toast, "Keep planning").click();
    await title.filter({ hasText: "Keep planning" }).waitFor();
    await input.fill("Smaller steps");
    await shot("14-keep-planning");
    await page.keyboard.press("Enter");
    await page.locator(".tab", { hasText: "Plan.md" }).waitFor({ state: "detached" });
    const again = toasts.filter({ hasText: "Leave plan mode" });
    await toastButton(again, "Accept edits").waitFor();
    await shot("14-second-plan");
    await toastButton(again, "Accept edits").click();
    const text = await conversationText("Carried out.");
    const mode = await status("accept edits · Idle");
    await page.locator(".tab", { hasText: "Plan.md" }).waitFor({ state: "detached" });
    return { text, mode };
  });

  await step("mention", async () => {
    await openFile("notes.txt");
    await page.locator(".view-line", { hasText: "apples" }).first().click();
    await page.keyboard.press("Control+Home");
    await page.keyboard.press("Shift+ArrowDown");
    await page.keyboard.press("Shift+ArrowDown");
    await command("Agent: Mention the File or Selection");
    await title.filter({ hasText: "Send a Prompt" }).waitFor();
    const mentioned = await input.inputValue();
    await quickButton("Attach Pictures or PDFs").click();
    await title.filter({ hasText: "Attach" }).waitFor();
    await rows.filter({ hasText: "red.png" }).click();
    await title.filter({ hasText: "Send a Prompt" }).waitFor();
    await input.fill(`${mentioned}What is this?`);
    await shot("15-mention");
    await page.keyboard.press("Enter");
    const text = await conversationText("A red square.");
    await status("Idle");
    await shot("16-attached");
    return { mentioned, text };
  });

  await step("withdrawn", async () => {
    await prompt("Ask me again");
    await toastButton(toasts.filter({ hasText: "Which database" }), "Answer").click();
    await title.filter({ hasText: "Database" }).waitFor();
    await pressOn(page.locator('.pane-header[aria-label^="Plan"]'), "Stop the Turn");
    const told = toasts.filter({ hasText: "No answer is needed" });
    await told.waitFor();
    await quickInput.waitFor({ state: "hidden" });
    await shot("17-withdrawn");
    return closeToast(told);
  });

  await step("declined", async () => {
    await prompt("Ask me once more");
    await toastButton(toasts.filter({ hasText: "Which database" }), "Answer").click();
    await rows.filter({ hasText: "Do not answer" }).click();
    const text = await conversationText("Then I decide.");
    await status("Idle");
    return text;
  });

  await step("compaction", async () => {
    await command("Agent: Compact the Conversation");
    await title.filter({ hasText: "Compact" }).waitFor();
    await input.fill("Keep the file names");
    await page.keyboard.press("Enter");
    const text = await conversationText("Conversation compacted:");
    const idle = await status("Idle");
    await conversation().locator("summary", { hasText: "Summary of what came before" }).click();
    const summary = await conversationText("Everything was tried.");
    await shot("18-compacted");
    return { text, idle, summary };
  });

  await step("clear", async () => {
    await command("Agent: Clear the Conversation");
    await page.locator(".monaco-dialog-box").getByText("Clear", { exact: true }).click();
    await conversationText("Nothing has been said yet");
    await shot("19-cleared");
    const toast = toasts.filter({ hasText: "begins anew" });
    await toastButton(toast, "Undo").click();
    return conversationText("Everything was tried.");
  });

  await step("fast mode", async () => {
    await command("Agent: Turn Fast Mode On or Off");
    const on = await status("offline");
    await statusItem.locator(".codicon-zap").waitFor();
    await statusItem.hover();
    await page.locator(".monaco-hover", { hasText: "Fast mode" }).waitFor();
    await shot("20-fast-mode");
    await command("Agent: Turn Fast Mode On or Off");
    await statusItem.locator(".codicon-zap").waitFor({ state: "detached" });
    return on;
  });
}

await drive(run);
