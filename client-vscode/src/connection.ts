/** What the window needs of a server: typed requests. */

import type { RequestType } from "vscode-languageclient/node";

export interface Connection {
  /** Reject where the server refuses; the error's message is meant for the user. */
  request<P, R>(type: RequestType<P, R, void>, params: P): Promise<R>;
}
