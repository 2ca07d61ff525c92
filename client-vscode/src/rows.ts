/** The lines of a list in the side bar; knows no editor. */

/**
 * A line, the same object for as long as its entry is shown. While a whole list is drawn anew,
 * VS Code does not know which of its lines was clicked; so lines are drawn anew one by one.
 */
export interface Row<T> {
  readonly id: string;
  entry: T;
}

export class Rows<T extends { readonly id: string }> {
  shown: readonly Row<T>[] = [];

  /** Take these entries; returns the lines that changed, or null where other lines stand there. */
  show(entries: readonly T[]): readonly Row<T>[] | null {
    const before = this.shown;
    const known = new Map(before.map((row) => [row.id, row]));
    const changed: Row<T>[] = [];
    this.shown = entries.map((entry) => {
      const row = known.get(entry.id);
      if (row === undefined) return { id: entry.id, entry };
      if (row.entry !== entry) changed.push(row);
      row.entry = entry;
      return row;
    });
    const stay =
      before.length === entries.length && before.every((row, at) => row === this.shown[at]);
    return stay ? changed : null;
  }
}
