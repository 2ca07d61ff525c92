/** A list in the side bar, which is there only while it has something to show. */

import * as vscode from "vscode";

export interface FlatTreeOptions<T> {
  readonly viewId: string;
  /** Set while there is something to show; the view's when-clause names it. */
  readonly contextKey: string;
  itemOf(element: T): vscode.TreeItem;
}

export class FlatTree<T> implements vscode.TreeDataProvider<T>, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<void>();
  readonly onDidChangeTreeData = this.changed.event;
  private readonly tree: vscode.TreeView<T>;
  private elements: readonly T[] = [];

  constructor(private readonly options: FlatTreeOptions<T>) {
    this.tree = vscode.window.createTreeView(options.viewId, { treeDataProvider: this });
  }

  show(elements: readonly T[]): void {
    if (elements === this.elements) return;
    const appears = elements.length > 0;
    if (appears !== this.elements.length > 0) {
      void vscode.commands.executeCommand("setContext", this.options.contextKey, appears);
    }
    this.elements = elements;
    this.changed.fire();
  }

  /** Draw the same elements anew, for time has passed. */
  redraw(): void {
    if (this.tree.visible && this.elements.length > 0) this.changed.fire();
  }

  getChildren(parent?: T): T[] {
    return parent === undefined ? [...this.elements] : [];
  }

  getTreeItem(element: T): vscode.TreeItem {
    return this.options.itemOf(element);
  }

  dispose(): void {
    this.tree.dispose();
    this.changed.dispose();
  }
}
