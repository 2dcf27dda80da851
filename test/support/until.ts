/** Polls for a condition without an event: a process that ends, a line in a log. */
const EVERY_MS = 10

/** Resolves when `isTrue` returns true; rejects after `withinMs`, with `what` in the message. */
export const until = async (
  isTrue: () => boolean | Promise<boolean>,
  withinMs: number,
  what: string,
): Promise<void> => {
  const end = performance.now() + withinMs
  while (!(await isTrue())) {
    if (performance.now() > end) throw new Error(`waited ${withinMs} ms for ${what}`)
    await new Promise((resolve) => setTimeout(resolve, EVERY_MS))
  }
}
