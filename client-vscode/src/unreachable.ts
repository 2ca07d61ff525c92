/** Closes a switch over a union: the compiler refuses it where a case was forgotten. */

/** Return `fallback` for a value that a newer server sent and this client does not know. */
export function unreachable<T>(_value: never, fallback: T): T {
  return fallback;
}
