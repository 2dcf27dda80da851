/** Lets other work of the main thread run first. */
export const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
