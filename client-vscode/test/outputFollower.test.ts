import assert from "node:assert/strict";
import { test } from "node:test";
import type { RequestType } from "vscode-languageclient/node";
import type { Connection } from "../src/connection";
import { MOST_BYTES, OutputFollower, plain } from "../src/outputFollower";
import type { TaskOutputParams, TaskOutputResult } from "../src/protocol";

/** A task whose output grows when the test says so. */
class Task implements Connection {
  output = Buffer.from("");
  finished = false;
  readonly asked: [number, number][] = [];

  async request<P, R>(_type: RequestType<P, R, void>, params: P): Promise<R> {
    const { offset = 0, limit = 65_536 } = params as TaskOutputParams;
    this.asked.push([offset, limit]);
    const piece = this.output.subarray(offset, offset + limit);
    const answer: TaskOutputResult = {
      text: piece.toString(),
      nextOffset: offset + piece.length,
      size: this.output.length,
      finished: this.finished,
    };
    return answer as R;
  }

  write(text: string): void {
    this.output = Buffer.concat([this.output, Buffer.from(text)]);
  }
}

function following(text: string): [Task, OutputFollower] {
  const task = new Task();
  task.write(text);
  return [task, new OutputFollower(task, "s1", "b1")];
}

test("what is new is read from where the last piece ended, until the task has ended", async () => {
  const [task, follower] = following("one\n");
  assert.equal(await follower.read(), true);
  assert.equal(await follower.read(), false);
  task.write("two\n");
  task.finished = true;
  assert.equal(await follower.read(), true);
  assert.equal(follower.shown(), "one\ntwo\n");
  assert.equal(follower.finished, true);
  assert.deepEqual(task.asked.map(([offset]) => offset), [0, 0, 4, 4]);
});

test("a task that ended has its output read to the end before it counts as over", async () => {
  const [task, follower] = following("x".repeat(200_000));
  task.finished = true;
  await follower.read();
  assert.equal(follower.finished, true);
  assert.equal(follower.shown().length, 200_000);
});

test("of a huge output only the end travels, and it says so", async () => {
  const [task, follower] = following("0123456789ABCDE\n".repeat(200_000));
  await follower.read();
  assert.match(follower.shown(), /^… 2\.7 MB above this are left out\.\n/);
  assert.ok(follower.shown().length <= MOST_BYTES + 100);
  const travelled = task.asked.reduce((sum, [, limit]) => sum + limit, 0);
  assert.ok(travelled <= MOST_BYTES + 65_536 + 1);
});

test("what outgrows the document leaves it at its beginning", async () => {
  const [task, follower] = following("first\n");
  await follower.read();
  for (let times = 0; times < 3; times += 1) {
    task.write("0123456789ABCDE\n".repeat(20_000));
    await follower.read();
  }
  const shown = follower.shown();
  assert.match(shown, /^… 4\d\d KB above this are left out\.\n0123456789ABCDE\n/);
  assert.ok(shown.length <= MOST_BYTES + 100);
});

test("colours are left out, and progress stands as it ended", () => {
  assert.equal(plain("\x1b[31mred\x1b[0m \x1b]0;title\x07done"), "red done");
  assert.equal(plain("10%\r50%\r100%\nnext\r\nlast\r"), "100%\nnext\nlast");
});
