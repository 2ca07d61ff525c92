// Drives VS Code in a browser as a person would, and writes what was seen as JSON.
//
//   node drive.mjs PORT WORKSPACE SHOTS REPORT
//
// Every wait is generous: the machine may be busy. What does not come ends the run with the name
// of the step, a picture of that moment and exit code 1.

import { readdirSync, readFileSync, readlinkSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

const require = createRequire(join(process.env.VSCODE_DRIVER, "package.json"));
const { chromium } = require("playwright-core");

const WAIT_MILLISECONDS = 90_000;
/** A webview's files have addresses of this host; a service worker answers, and no one else. */
const SERVED_IN_THE_BROWSER = ".vscode-resource.vscode-cdn.net";
const [port, workspace, shots, reportFile] = process.argv.slice(2);
const report = { steps: [], outside: [], failed: null };

const browser = await chromium.launch({
  executablePath: "/usr/bin/chromium",
  headless: true,
  args: [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
  ],
});
const page = await browser.newPage({ viewport: { width: 1280, height: 760 } });
page.setDefaultTimeout(WAIT_MILLISECONDS);
page.on("request", (request) => {
  const url = new URL(request.url());
  const inside = url.hostname === "127.0.0.1" || url.hostname.endsWith(SERVED_IN_THE_BROWSER);
  if (url.protocol.startsWith("http") && !inside) report.outside.push(url.origin);
});

const statusItem = page.locator('.statusbar-item[id="agentls.agentls.agentls.status"]');
const toasts = page.locator(".notifications-toasts .notification-list-item");
const quickInput = page.locator(".quick-input-widget");

async function step(name, action) {
  try {
    const seen = (await action()) ?? true;
    report.steps.push({ name, seen });
  } catch (error) {
    report.failed = { name, error: String(error) };
    await shot("failed").catch(() => {});
    throw error;
  } finally {
    writeFileSync(reportFile, JSON.stringify(report, null, 2));
  }
}

async function shot(name) {
  await page.waitForTimeout(700); // animations
  await page.screenshot({ path: join(shots, `${name}.png`) });
}

async function status(text) {
  await statusItem.filter({ hasText: text }).waitFor();
  return (await statusItem.innerText()).trim();
}

async function command(title) {
  await page.keyboard.press("F1");
  const input = quickInput.locator("input.input");
  await input.waitFor();
  await input.fill(`>${title}`);
  await quickInput.locator(".monaco-list-row", { hasText: title }).first().click();
}

async function prompt(text) {
  await command("Agent: Send a Prompt");
  await quickInput.locator(".quick-input-title", { hasText: "Send a Prompt" }).waitFor();
  await quickInput.locator("input.input").fill(text);
  await page.keyboard.press("Enter");
}

function toastButton(toast, label) {
  return toast.locator("a.monaco-button").getByText(label, { exact: true });
}

async function openFile(name) {
  await page.keyboard.press("Control+p");
  const input = quickInput.locator("input.input");
  await input.waitFor();
  await input.fill(name);
  await quickInput.locator(".monaco-list-row", { hasText: name }).first().click();
  await page.locator(".tab", { hasText: name }).first().waitFor();
}

/** The drawn conversation: a page in a frame in a frame. */
function conversation() {
  return page
    .frameLocator("iframe.webview.ready")
    .frameLocator("iframe#active-frame")
    .locator(".agentls-conversation");
}

async function conversationText(expected) {
  await conversation().filter({ hasText: expected }).waitFor();
  return conversation().innerText();
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

async function run() {
  await step("status bar", async () => {
    await page.goto(`http://127.0.0.1:${port}/?folder=${workspace}`, {
      waitUntil: "domcontentloaded",
    });
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
    await toast.hover();
    await toast.locator(".codicon-notifications-clear").first().click();
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
    await page.locator('.activitybar .action-label[aria-label^="Agent"]').click();
    await page.locator(".composite.title", { hasText: "Agent: Plan" }).waitFor();
    await prompt(process.env.PLAN_PROMPT);
    await toastButton(toasts, "Allow").waitFor();
    const rows = page.locator(".pane-body .monaco-list-row");
    await rows.first().waitFor();
    await conversationText("waiting for approval");
    await shot("6-plan");
    const working = await rows.allInnerTexts();
    await command("Agent: Answer an Approval");
    await quickInput.locator(".monaco-list-row", { hasText: "Allow" }).first().click();
    await status("offline · default · Idle");
    await shot("7-plan-done");
    return { working, done: await rows.allInnerTexts() };
  });

  await step("second answer", async () => {
    await toastButton(toasts, "Deny").click(); // it was allowed in the list
    const told = toasts.filter({ has: page.locator(".codicon-info") });
    await told.waitFor();
    await shot("8-second-answer");
    const text = await told.innerText();
    await told.hover();
    await told.locator(".codicon-notifications-clear").first().click();
    return text;
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

try {
  await run();
} catch (error) {
  console.error(error);
  process.exitCode = 1;
} finally {
  await browser.close();
}
