/** Polls for a condition without an event: a process that ends, a line in a log. */
// Milliseconds between two looks, which are requests of servers or statements in many tests: short at first, then a part
// of the time waited. A look every 10 ms at a takeover of 15 seconds took more CPU time than the servers.
const FIRST_MS = 10
const MOST_MS = 100
const PART = 0.05

/** Resolves when `isTrue` returns true; rejects after `withinMs`, with `what` in the message. */
export const until = async (
  isTrue: () => boolean | Promise<boolean>,
  withinMs: number,
  what: string,
): Promise<void> => {
  const start = performance.now()
  while (!(await isTrue())) {
    const waited = performance.now() - start
    if (waited > withinMs) throw new Error(`waited ${withinMs} ms for ${what}`)
    await new Promise((resolve) => setTimeout(resolve, Math.min(MOST_MS, Math.max(FIRST_MS, waited * PART))))
  }
}
