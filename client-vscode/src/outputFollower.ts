/** A task's output as far as it has been read, from an offset on; knows no editor. */

import { bytesText } from "./amounts";
import type { Connection } from "./connection";
import * as methods from "./methods";

/** Of an output that is longer than that, only the end is read. */
export const MOST_BYTES = 512 * 1024;
const PIECE_BYTES = 64 * 1024;

export class OutputFollower {
  /** The task has ended, and all of its output has been read. */
  finished = false;
  private text = "";
  private offset: number | null = null;
  private leftOut = 0;

  constructor(
    private readonly connection: Connection,
    private readonly sessionId: string,
    private readonly taskId: string,
  ) {}

  /** Read what has come since the last time; tells whether there was something new. */
  async read(): Promise<boolean> {
    let grown = false;
    for (let bytes = 0; bytes < MOST_BYTES && !this.finished; ) {
      const from: number = this.offset ?? (await this.beginning());
      const piece = await this.request(from, PIECE_BYTES);
      this.offset = piece.nextOffset;
      this.text += piece.text;
      grown ||= piece.text !== "";
      bytes += piece.nextOffset - from;
      if (piece.nextOffset >= piece.size) this.finished = piece.finished;
      if (piece.nextOffset >= piece.size || piece.nextOffset <= from) break;
    }
    this.trim();
    return grown || this.finished;
  }

  /** Return what a document shows of it. */
  shown(): string {
    const above = `… ${bytesText(this.leftOut)} above this are left out.\n`;
    return `${this.leftOut > 0 ? above : ""}${plain(this.text)}`;
  }

  private async beginning(): Promise<number> {
    const { size } = await this.request(0, 1);
    this.leftOut = Math.max(0, size - MOST_BYTES);
    return this.leftOut;
  }

  private request(offset: number, limit: number) {
    const { sessionId, taskId } = this;
    return this.connection.request(methods.taskOutput, { sessionId, taskId, offset, limit });
  }

  /** Keep the end, from the beginning of a line on. */
  private trim(): void {
    if (this.text.length <= MOST_BYTES) return;
    const cut = this.text.length - MOST_BYTES;
    const line = this.text.indexOf("\n", cut);
    const kept = this.text.slice(line === -1 ? cut : line + 1);
    const gone = this.text.slice(0, this.text.length - kept.length);
    this.leftOut += Buffer.byteLength(gone);
    this.text = kept;
  }
}

/** Return output without colours, and each line as it stood in the end: progress overwrites. */
export function plain(output: string): string {
  return output
    .replace(ESCAPES, "")
    .replace(/\r+\n/g, "\n")
    .replace(/^[^\n]*\r(?=[^\n])/gm, "")
    .replace(/\r/g, "");
}

// Control sequences (colours, moves of the cursor) and those that set a title or a link.
const ESCAPES = /\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\^_])/g;
