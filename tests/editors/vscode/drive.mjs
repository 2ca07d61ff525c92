// Walks through all that the extension offers, with the offline model; see workbench.mjs.

import { readdirSync, readFileSync, readlinkSync } from "node:fs";
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
  planRows,
  prompt,
  quickInput,
  shot,
  status,
  statusItem,
  step,
  toastButton,
  toasts,
  workspace,
} from "./workbench.mjs";

async function run() {
  await step("status bar", async () => {
    await openWorkspace();
    const text = await status("offline · default · Idle");
    await openFile("notes.txt");
    await shot("1-idle");
    return text;
  });

  await step("approval", async () => {
    await prompt('replace "apples" with "pears" in notes.txt');
    const toast = toasts.filter({ hasText: "notes.txt" });
    await toastButton(toast, "Allow").waitFor();
    const text = await toast.innerText();
    const waiting = await status("Waiting for approval");
    const warning = await statusItem.evaluate((item) => item.classList.contains("warning-kind"));
    await conversationText("waiting for approval");
    await shot("2-approval");
    return { text, waiting, warning };
  });

  await step("detail", async () => {
    await toastButton(toasts.filter({ hasText: "notes.txt" }), "Show").click();
    await page.locator(".tab", { hasText: ".diff" }).waitFor();
    await page.locator(".view-line", { hasText: "+" }).filter({ hasText: "pears" }).waitFor();
    await toastButton(toasts.filter({ hasText: "notes.txt" }), "Allow").waitFor();
    await shot("3-detail");
  });

  await step("edit", async () => {
    await toastButton(toasts.filter({ hasText: "notes.txt" }), "Allow").click();
    await page.locator(".tab", { hasText: ".diff" }).waitFor({ state: "detached" });
    await page.locator(".view-line", { hasText: "pears" }).first().waitFor();
    await status("offline · default · Idle");
    const text = await conversationText("✓ Edit");
    await shot("4-edited");
    return text;
  });

  await step("closed toast", async () => {
    await prompt('replace "bread" with "cake" in notes.txt');
    const toast = toasts.filter({ hasText: "notes.txt" });
    await toastButton(toast, "Allow").waitFor();
    await closeToast(toast);
    await toast.waitFor({ state: "detached" });
    const waiting = await status("Waiting for approval");
    await command("Agent: Answer an Approval");
    await quickInput.locator(".monaco-list-row", { hasText: "Deny" }).first().waitFor();
    await shot("5-asked-again");
    await quickInput.locator(".monaco-list-row", { hasText: "Allow" }).first().click();
    await page.locator(".view-line", { hasText: "cake" }).first().waitFor();
    await status("offline · default · Idle");
    return waiting;
  });

  await step("plan", async () => {
    await openPlan();
    await prompt(process.env.PLAN_PROMPT);
    await toastButton(toasts, "Allow").waitFor();
    await planRows.first().waitFor();
    await conversationText("waiting for approval");
    await shot("6-plan");
    const working = await planRows.allInnerTexts();
    await command("Agent: Answer an Approval");
    await quickInput.locator(".monaco-list-row", { hasText: "Allow" }).first().click();
    await status("offline · default · Idle");
    await shot("7-plan-done");
    return { working, done: await planRows.allInnerTexts() };
  });

  await step("second answer", async () => {
    await toastButton(toasts, "Deny").click(); // it was allowed in the list
    const told = toasts.filter({ has: page.locator(".codicon-info") });
    await told.waitFor();
    await shot("8-second-answer");
    return closeToast(told);
  });

  await step("stopped turn", async () => {
    await prompt("run `sleep 600`");
    await toastButton(toasts.filter({ hasText: "sleep 600" }), "Allow").click();
    await conversation().locator("p", { hasText: "… Bash" }).waitFor();
    const running = await status("sleep 600");
    await shot("9-running");
    await command("Agent: Stop the Turn");
    await status("offline · default · Idle");
    return { running, text: await conversationText("Stopped.") };
  });

  await step("choices", async () => {
    const rows = quickInput.locator(".monaco-list-row");
    await command("Agent: Select the Model");
    await rows.filter({ hasText: "offline" }).first().waitFor();
    const models = await rows.allInnerTexts();
    await page.keyboard.press("Escape");
    await command("Agent: Select the Permission Mode");
    await rows.filter({ hasText: "accept edits" }).waitFor();
    await shot("10-modes");
    await rows.filter({ hasText: "accept edits" }).click();
    const mode = await status("offline · accept edits · Idle");
    await command("Agent: New Session");
    await status("offline · default · Idle");
    await conversationText("Nothing has been said yet");
    await command("Agent: Open a Session");
    await rows.filter({ hasText: "sleep 600" }).first().waitFor();
    await shot("11-sessions");
    await rows.filter({ hasText: "sleep 600" }).first().click();
    await status("offline · accept edits · Idle");
    return { models, mode, text: await conversationText("Stopped.") };
  });

  await step("menu", async () => {
    await statusItem.click();
    await quickInput.locator(".monaco-list-row", { hasText: "Send a prompt" }).waitFor();
    await shot("12-menu");
    const rows = await quickInput.locator(".monaco-list-row").allInnerTexts();
    await page.keyboard.press("Escape");
    return rows;
  });

  await step("crash", async () => {
    const pids = serverPids();
    for (const pid of pids) process.kill(pid, "SIGKILL");
    const toast = toasts.filter({ hasText: "ended unexpectedly" });
    await toastButton(toast, "Restart").waitFor();
    const stopped = await status("Agent: stopped");
    await shot("13-crash");
    await toastButton(toast, "Restart").click();
    await status("offline · accept edits · Idle");
    return { killed: pids.length, stopped };
  });

  await step("continued", async () => {
    await page.reload({ waitUntil: "domcontentloaded" });
    await status("offline · accept edits · Idle");
    await command("Agent: Show the Conversation");
    const text = await conversationText("pears");
    await shot("14-continued");
    return text;
  });
}

function serverPids() {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        const words = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
        return words.includes("lsp") && readlinkSync(`/proc/${pid}/cwd`) === workspace;
      } catch {
        return false; // it ended meanwhile
      }
    })
    .map(Number);
}

await drive(run);
