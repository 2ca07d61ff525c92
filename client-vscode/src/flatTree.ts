/** A list in the side bar, which is there only while it has something to show. */

import * as vscode from "vscode";
import { Rows } from "./rows";
import type { Row } from "./rows";

export interface FlatTreeOptions<T> {
  readonly viewId: string;
  /** Set while there is something to show; the view's when-clause names it. */
  readonly contextKey: string;
  itemOf(entry: T): vscode.TreeItem;
}

/** A command about a line is handed that line, which bears the id of its entry. */
export class FlatTree<T extends { readonly id: string }>
  implements vscode.TreeDataProvider<Row<T>>, vscode.Disposable
{
  private readonly changed = new vscode.EventEmitter<Row<T>[] | undefined>();
  readonly onDidChangeTreeData = this.changed.event;
  private readonly tree: vscode.TreeView<Row<T>>;
  private readonly rows = new Rows<T>();

  constructor(private readonly options: FlatTreeOptions<T>) {
    this.tree = vscode.window.createTreeView(options.viewId, { treeDataProvider: this });
  }

  show(entries: readonly T[]): void {
    const appears = entries.length > 0;
    if (appears !== this.rows.shown.length > 0) {
      void vscode.commands.executeCommand("setContext", this.options.contextKey, appears);
    }
    this.draw(this.rows.show(entries));
  }

  /** Draw the same lines anew, for time has passed. */
  redraw(): void {
    if (this.tree.visible) this.draw(this.rows.shown);
  }

  getChildren(parent?: Row<T>): Row<T>[] {
    return parent === undefined ? [...this.rows.shown] : [];
  }

  getTreeItem({ id, entry }: Row<T>): vscode.TreeItem {
    const item = this.options.itemOf(entry);
    item.id = id;
    return item;
  }

  dispose(): void {
    this.tree.dispose();
    this.changed.dispose();
  }

  private draw(rows: readonly Row<T>[] | null): void {
    if (rows === null) this.changed.fire(undefined);
    else if (rows.length > 0) this.changed.fire([...rows]);
  }
}
