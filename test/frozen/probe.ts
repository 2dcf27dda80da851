/** Asks a server how it is, all the time. */
const EVERY_MS = 100

export interface Seen {
  /** Milliseconds until /readyz was first something else than 200, and 200 again after that. */
  readonly unready: number | undefined
  readonly readyAgain: number | undefined
  /** Milliseconds until /readyz was first 200. */
  readonly ready: number | undefined
  /** Statuses of /livez; 0 for one that did not come within a second. */
  readonly alive: readonly number[]
  /** Most bytes of memory. */
  readonly most: number
}

type Seeing = { -readonly [Name in keyof Seen]: Seen[Name] } & { alive: number[] }

const nothing = (): Seeing => ({ unready: undefined, readyAgain: undefined, ready: undefined, alive: [], most: 0 })

/** `take` tells what was seen since the last time, or since `begin`. */
export const createProbe = (ask: (path: string) => Promise<Response>, readMemory: () => Promise<number>) => {
  let seen = nothing()
  let from = performance.now()
  let isOver = false
  const repeat = async (look: () => Promise<void>): Promise<void> => {
    while (!isOver) {
      await look()
      await new Promise((resolve) => setTimeout(resolve, EVERY_MS))
    }
  }
  const status = async (path: string): Promise<number> => {
    const answer = await ask(path)
    await answer.arrayBuffer()
    return answer.status
  }
  const lookReady = async (): Promise<void> => {
    const current = seen
    const isReady = (await status('/readyz')) === 200
    // An answer to what was asked before belongs to what was seen before.
    if (current !== seen) return
    const ms = performance.now() - from
    if (isReady) seen.ready ??= ms
    else seen.unready ??= ms
    if (isReady && seen.unready !== undefined) seen.readyAgain ??= ms
  }
  const lookAlive = async (): Promise<void> => {
    const late = new Promise<number>((resolve) => setTimeout(resolve, 1_000, 0))
    seen.alive.push(await Promise.race([status('/livez'), late]))
  }
  const lookAtMemory = async (): Promise<void> => {
    seen.most = Math.max(seen.most, await readMemory())
  }
  let running: Promise<unknown> = Promise.resolve()
  const take = (): Seen => {
    const taken = seen
    seen = nothing()
    from = performance.now()
    return taken
  }
  return {
    begin(): void {
      take()
      running = Promise.all([lookReady, lookAlive, lookAtMemory].map(repeat))
    },
    take,
    async stop(): Promise<void> {
      isOver = true
      await running
    },
  }
}
