// VS Code in a browser, and what a person does with it and the extension.
//
//   node DRIVER PORT WORKSPACE SHOTS REPORT
//
// A driver imports this and calls `drive` with its steps; what was seen is written as JSON. Every
// wait is generous: the machine may be busy. What does not come ends the run with the name of the
// step, a picture of that moment and exit code 1.

import { writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, dirname, join } from "node:path";

const require = createRequire(join(process.env.VSCODE_DRIVER, "package.json"));
const { chromium } = require("playwright-core");

const WAIT_MILLISECONDS = 90_000;
/** A webview's files have addresses of this host; a service worker answers, and no one else. */
const SERVED_IN_THE_BROWSER = ".vscode-resource.vscode-cdn.net";
const [port, folder, shots, reportFile] = process.argv.slice(2);
/** The folder that is worked on. */
export const workspace = folder;
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
export const page = await browser.newPage({ viewport: { width: 1280, height: 760 } });
page.setDefaultTimeout(WAIT_MILLISECONDS);
page.on("request", (request) => {
  const url = new URL(request.url());
  const inside = url.hostname === "127.0.0.1" || url.hostname.endsWith(SERVED_IN_THE_BROWSER);
  if (url.protocol.startsWith("http") && !inside) report.outside.push(url.origin);
});

export const statusItem = page.locator('.statusbar-item[id="agentls.agentls.agentls.status"]');
export const toasts = page.locator(".notifications-toasts .notification-list-item");
export const quickInput = page.locator(".quick-input-widget");
export const planRows = viewRows("Plan");

/** Run the steps of a driver, and close the browser whatever comes of them. */
export async function drive(steps) {
  try {
    await steps();
  } catch (error) {
    console.error(error);
    process.exitCode = 1;
  } finally {
    await browser.close();
  }
}

export async function step(name, action) {
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

export async function shot(name) {
  await page.waitForTimeout(700); // animations
  await page.screenshot({ path: join(shots, `${name}.png`) });
}

export async function openWorkspace() {
  await page.goto(`http://127.0.0.1:${port}/?folder=${workspace}`, {
    waitUntil: "domcontentloaded",
  });
}

export async function status(text) {
  await statusItem.filter({ hasText: text }).waitFor();
  return (await statusItem.innerText()).trim();
}

export async function command(title) {
  await page.keyboard.press("F1");
  const input = quickInput.locator("input.input");
  await input.waitFor();
  await input.fill(`>${title}`);
  await quickInput.locator(".monaco-list-row", { hasText: title }).first().click();
}

export async function prompt(text) {
  await command("Agent: Send a Prompt");
  await quickInput.locator(".quick-input-title", { hasText: "Send a Prompt" }).waitFor();
  await quickInput.locator("input.input").fill(text);
  await page.keyboard.press("Enter");
}

export function toastButton(toast, label) {
  return toast.locator("a.monaco-button").getByText(label, { exact: true });
}

/** Close a toast unanswered, and return what it said. */
export async function closeToast(toast) {
  const text = await toast.innerText();
  await toast.hover();
  await toast.locator(".codicon-notifications-clear").first().click();
  return text;
}

/** Open a file of the workspace by its path there. */
export async function openFile(path) {
  const name = basename(path);
  const folders = dirname(path) === "." ? "" : dirname(path);
  await page.keyboard.press("Control+p");
  const input = quickInput.locator("input.input");
  await input.waitFor();
  await input.fill(path);
  const rows = quickInput.locator(".monaco-list-row", { hasText: name });
  await rows.filter({ hasText: folders }).first().click();
  await page.locator(".tab", { hasText: name }).first().waitFor();
}

/** Bring the agent's views to the side bar. */
export async function openPlan() {
  await page.locator('.activitybar .action-label[aria-label^="Agent"]').click();
  await page.locator(".composite.title", { hasText: "Agent" }).waitFor();
}

/** The lines of one of the agent's views. */
export function viewRows(name) {
  return page.locator(`.monaco-list[aria-label="${name}"] .monaco-list-row`);
}

/** A button in the title of the quick input. */
export function quickButton(label) {
  return quickInput.locator(`.quick-input-titlebar .action-label[aria-label^="${label}"]`);
}

/** A button on a line of a view, which is there while the mouse is. */
export async function pressOn(row, label) {
  await row.hover();
  await row.locator(`.action-label[aria-label^="${label}"]`).click();
}

/** The drawn conversation: a page in a frame in a frame. */
export function conversation() {
  return page
    .frameLocator("iframe.webview.ready")
    .frameLocator("iframe#active-frame")
    .locator(".agentls-conversation");
}

export async function conversationText(expected) {
  await conversation().filter({ hasText: expected }).waitFor();
  return conversation().innerText();
}
