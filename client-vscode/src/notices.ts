/** What the server has to tell that belongs to no session, each once. */

import * as vscode from "vscode";
import type { Notice } from "./protocol";
import { unreachable } from "./unreachable";

export class Notices {
  private readonly shown = new Set<string>();

  show(notices: readonly Notice[]): void {
    for (const notice of notices) {
      if (this.shown.has(notice.id)) continue;
      this.shown.add(notice.id);
      void tell(notice);
    }
  }
}

function tell(notice: Notice): Thenable<unknown> {
  switch (notice.level) {
    case "info":
      return vscode.window.showInformationMessage(notice.message);
    case "warning":
      return vscode.window.showWarningMessage(notice.message);
    case "error":
      return vscode.window.showErrorMessage(notice.message);
    default:
      return unreachable(notice.level, Promise.resolve());
  }
}
