/**
 * X-Snapshot in a simulation of the feed: the code of the server makes the texts and judges them, by epochs that it reads from
 * the simulated database.
 */
import { createSecretKey } from 'node:crypto'
import type { Clock, RequestContext } from '../../kernel/index.ts'
import { createKnownEpochs } from '../../plugins/cluster/snapshot/known-epochs.ts'
import { createReadYourWrites } from '../../plugins/cluster/snapshot/read-your-writes.ts'
import type { Snapshot, SnapshotSource } from '../../plugins/cluster/snapshot/snapshot-source.ts'
import type { Database } from '../../plugins/database/service.ts'
import type { SeededRandom } from '../fuzz/random.ts'
import type { FeedDatabase } from './feed-database.ts'
import type { SimulatedWorld } from './simulated-world.ts'

const KEY = createSecretKey(Buffer.alloc(32, 'snapshot'))
const QUERY_MS = 15 // each way

/** A text that an answer had, and what it was made for. */
export interface Token extends Snapshot {
  readonly text: string
}

export interface TokenParts {
  readonly database: FeedDatabase
  readonly world: SimulatedWorld
  readonly clock: Clock
  readonly random: SeededRandom
  readonly source: Omit<SnapshotSource, 'epochOf'>
}

/** An epoch as the database has it: `next` is the number of the first commit of the one that followed. */
const rowOf = ({ epochs }: FeedDatabase, number: unknown): object | undefined => {
  const found = epochs.find(({ epoch }) => epoch === number)
  return found && { term: found.term, next: epochs.find(({ epoch }) => epoch > found.epoch)?.firstSeq ?? null }
}

/** `taken` is another number than the one that the text was made for. */
export const forge = ({ text, epoch, seq }: Token, taken: number): string =>
  text.replace(`1-${epoch}-${seq}-`, `1-${epoch}-${taken}-`)

export const createTokens = ({ database, world, clock, random, source }: TokenParts) => {
  const get = (_statement: unknown, [number]: readonly unknown[]): Promise<unknown> =>
    new Promise((resolve) =>
      world.after(random.int(QUERY_MS), () => {
        const row = rowOf(database, number)
        world.after(random.int(QUERY_MS), () => resolve(row))
      }),
    )
  const epochs = createKnownEpochs({ get } as unknown as Database, () => source.current?.epoch)
  const snapshots = createReadYourWrites({
    source: {
      get current() {
        return source.current
      },
      epochOf: epochs.of,
      look: source.look,
      changed: source.changed,
    },
    key: () => KEY,
    clock,
  })
  const requestWith = (text: string): RequestContext =>
    ({ headers: { 'x-snapshot': text }, signal: new AbortController().signal }) as unknown as RequestContext
  return {
    /** The header of an answer now; undefined where it has none. */
    announced(): Token | undefined {
      const { current } = source
      let text: string | undefined
      const setHeader = (_name: string, value: string): void => {
        text = value
      }
      snapshots.announce({ setHeader } as unknown as RequestContext)
      return text === undefined || current === undefined ? undefined : { text, epoch: current.epoch, seq: current.seq }
    },
    /** Reads the epoch, so that answers can name it. */
    enter: (epoch: number): void => void epochs.of(epoch),
    /** On a replica: `here`, `sent on`, or the key of the refusal. */
    reach: (text: string): Promise<string> =>
      snapshots.reach(requestWith(text)).then(
        (isHere) => (isHere ? 'here' : 'sent on'),
        (error: { readonly key?: string }) => error.key ?? String(error),
      ),
    /** On the primary: `here`, or the key of the refusal. */
    check: async (text: string): Promise<string> => {
      try {
        await snapshots.check(requestWith(text))
        return 'here'
      } catch (error) {
        return (error as { readonly key?: string }).key ?? String(error)
      }
    },
  }
}
export type Tokens = ReturnType<typeof createTokens>
