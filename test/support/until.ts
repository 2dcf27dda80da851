/** Waits for a condition that nothing announces: a process that ends, a line in a log. */
const EVERY_MS = 10

/** Resolves when `isTrue` says so; rejects with what was waited for when it does not within `withinMs`. */
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
