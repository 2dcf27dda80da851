/** How long it takes until a server that follows has heard of a commit of the server that writes. */
import { createKernel, type Kernel } from '../../../kernel/index.ts'
import { makeDatabasePlugin } from '../../../plugins/database/database-plugin.ts'
import { ChangeFeed } from '../../../plugins/database/service.ts'
import { startTcpProxy } from '../../support/tcp-proxy.ts'
import type { Bench } from '../bench.ts'

const BEAT_MS = 1_200 // a little more than between two beats, with which the primary hears who follows
const LISTEN = 'LISTEN refhir_change'
const NOBODY = 'LISTEN refhir_nobody' // as long: it replaces the other one in the bytes of a message

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

export interface HeardOptions {
  readonly primary: Kernel
  /** The settings of the primary's database. */
  readonly database: { readonly kind: string; readonly postgres_url: string }
  readonly create: () => Promise<void>
  /** Without them the follower looks every half second, and learns from beats what is on disk. */
  readonly hasNotifications: boolean
  readonly creates: number
  /** Milliseconds between two creates. */
  readonly everyMs: number
  /** Milliseconds that are asked for. */
  readonly requiredMs: number
}

/** A way to the database on which a server that follows listens for what nobody sends. */
const withoutNotify = async (databaseUrl: string): Promise<{ readonly url: string; stop(): void }> => {
  const url = new URL(databaseUrl)
  const proxy = await startTcpProxy(Number(url.port))
  let isReplaced = false
  proxy.onClient = (chunk) => {
    const at = chunk.indexOf(LISTEN)
    if (at !== -1) chunk.write(NOBODY, at)
    isReplaced ||= at !== -1
    return 'pass'
  }
  url.port = String(proxy.port)
  return {
    url: url.href,
    stop() {
      proxy.stop()
      if (!isReplaced) throw new Error('the follower had notifications')
    },
  }
}

export const reportHeard = async (bench: Bench, options: HeardOptions): Promise<void> => {
  const { primary, database, create, hasNotifications, creates, everyMs, requiredMs } = options
  const way = hasNotifications
    ? { url: database.postgres_url, stop: () => undefined }
    : await withoutNotify(database.postgres_url)
  const follower = await createKernel({
    plugins: [makeDatabasePlugin({ hasLease: true, follows: true })],
    settings: { database: { ...database, postgres_url: way.url } },
    log: { level: 'silent' },
  })
  await follower.start()
  await pause(BEAT_MS)
  const times: number[] = []
  const waiting = new Map<number, number>()
  const measure = (seq: number): void => {
    const since = waiting.get(seq)
    if (since !== undefined) times.push(performance.now() - since)
  }
  const [own, heard] = [primary.get(ChangeFeed), follower.get(ChangeFeed)]
  const stops = [
    own.listen({ name: 'bench', commit: ({ seq }) => void waiting.set(seq, performance.now()), gap: () => undefined }),
    heard.listen({ name: 'bench', commit: ({ seq }) => measure(seq), gap: () => undefined }),
  ]
  for (let n = 0; n < creates; n += 1) {
    await create()
    if (everyMs > 0) await pause(everyMs)
  }
  await pause(BEAT_MS + requiredMs)
  for (const stop of stops) stop()
  const sorted = times.toSorted((one, other) => one - other)
  const at = (share: number): number => sorted[Math.floor(sorted.length * share)] ?? Number.NaN
  bench.report({
    figure: `change on disk → heard by a follower, p99${hasNotifications ? '' : ', without NOTIFY'}`,
    required: `≤ ${requiredMs} ms`,
    measured: `${at(0.99).toFixed(1)} ms`,
    spread: `${at(0).toFixed(1)} … ${(sorted.at(-1) ?? Number.NaN).toFixed(1)} ms`,
    ok: at(0.99) <= requiredMs && times.length > creates * 0.99,
    beside: `p50 ${at(0.5).toFixed(1)} ms of ${times.length}`,
  })
  await follower.stop()
  way.stop()
}
