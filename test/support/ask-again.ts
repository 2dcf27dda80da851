/** Requests of tests that hold up their own process for longer than a writer lease is valid without a confirmation. */
const TRIES = 60
const PAUSE_MS = 250

/**
 * Sends a request again while it is answered with 503: the server, in the process of the test, does not know for a moment
 * whether it still is the one that writes. It refuses a request then before anything of it is stored.
 */
export const askAgain = async <T>(ask: () => Promise<T>, statusOf: (answer: T) => number): Promise<T> => {
  for (let tries = 1; ; tries += 1) {
    const answer = await ask()
    if (statusOf(answer) !== 503 || tries === TRIES) return answer
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
  }
}
