/** Time that a simulation moves: events in the order of their time, and nothing in between. */

/** All that was started by the last event is done when this resolves. */
const settle = (): Promise<void> => new Promise(setImmediate)

export const createSimulatedWorld = () => {
  let now = 0
  let steps = 0
  let events: { readonly at: number; readonly act: () => void }[] = []
  return {
    get now() {
      return now
    },
    /** Events until now. */
    get steps() {
      return steps
    },
    after: (ms: number, act: () => void): void => void events.push({ at: now + ms, act }),
    /** Calls `check` after each event. */
    async run(until: number, check: () => void): Promise<void> {
      for (;;) {
        const next = events.reduce<(typeof events)[number] | undefined>(
          (least, one) => (least === undefined || one.at < least.at ? one : least),
          undefined,
        )
        if (next === undefined || next.at > until) break
        events = events.filter((one) => one !== next)
        now = next.at
        steps += 1
        next.act()
        await settle()
        check()
      }
      now = until
    },
  }
}
export type SimulatedWorld = ReturnType<typeof createSimulatedWorld>
