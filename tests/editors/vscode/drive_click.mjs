// Plays the turn of six calls in the source of click: the edit is allowed, the command denied.
//
// CLICK_PROMPT is what is asked, CLICK_FILE what is open and edited meanwhile, CLICK_COMMAND what
// the agent wants to run, and CLICK_LAST_WORDS how its last answer ends. See workbench.mjs.

import {
  conversationText,
  drive,
  openFile,
  openPlan,
  openWorkspace,
  planRows,
  prompt,
  shot,
  status,
  step,
  toastButton,
  toasts,
} from "./workbench.mjs";

const { CLICK_PROMPT, CLICK_FILE, CLICK_COMMAND, CLICK_LAST_WORDS } = process.env;

async function run() {
  await step("idle", async () => {
    await openWorkspace();
    const text = await status("Idle");
    await openFile(CLICK_FILE);
    return text;
  });

  await step("edit", async () => {
    await prompt(CLICK_PROMPT);
    const toast = toasts.filter({ hasText: CLICK_FILE });
    await toastButton(toast, "Allow").waitFor();
    const waiting = await status("Waiting for approval");
    const conversation = await conversationText("waiting for approval");
    await shot("1-approval");
    const text = await toast.innerText();
    await toastButton(toast, "Allow").click();
    return { text, waiting, conversation };
  });

  await step("command", async () => {
    const toast = toasts.filter({ hasText: CLICK_COMMAND });
    await toastButton(toast, "Deny").waitFor();
    const text = await toast.innerText();
    await toastButton(toast, "Deny").click();
    await toast.waitFor({ state: "detached" });
    return text;
  });

  await step("done", async () => {
    const conversation = await conversationText(CLICK_LAST_WORDS);
    const text = await status("Idle");
    await shot("2-done");
    return { status: text, conversation };
  });

  await step("plan", async () => {
    await openPlan();
    await planRows.nth(2).waitFor();
    await shot("3-plan");
    return planRows.allInnerTexts();
  });
}

await drive(run);
