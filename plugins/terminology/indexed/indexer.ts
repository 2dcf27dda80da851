/**
 * Puts large code systems into the index, one after the other, beside the requests: those that are stored, and those of
 * packages. Until one is complete it is answered from memory.
 */
import { type Clock, every, type Logger, type Repeating } from '../../../kernel/index.ts'
import type { Database } from '../../database/service.ts'
import type { Resources } from '../../fhir/service.ts'
import type { Definitions } from '../../packages/service.ts'
import { createFindSystem } from './find-system.ts'
import { nameOfPackaged } from './index-reader.ts'
import { isLarge, mayBeLarge } from './is-large.ts'
import { createIndexingThread } from './read-in-thread.ts'
import type { RowsWriter } from './rows-writer.ts'
import {
  readBuilding,
  readIndexedPackages,
  readNamed,
  readPackaged,
  type SystemRow,
  type SystemSource,
  setIndexedPackages,
} from './tables.ts'

/** After the start packages are looked through once, and rows of replaced versions are removed each time. */
const LOOK_MS = 60_000

export interface IndexerParts {
  readonly database: Database
  readonly resources: () => Resources
  readonly definitions: Definitions
  readonly writer: RowsWriter
  readonly clock: Clock
  readonly log: Logger
  /** Called when a code system is in the index. */
  readonly changed: () => void
}

export interface Indexer {
  /** Looks at the current version of a stored CodeSystem, by its id, or at a definition of a package. */
  want(source: SystemSource, name: string): void
  /** Resolves when nothing is left to do. */
  idle(): Promise<void>
  start(): Promise<void>
  stop(): Promise<void>
}

export const createIndexer = (parts: IndexerParts): Indexer => {
  const { database, resources, definitions, writer, clock, log, changed } = parts
  const queue = new Map<string, readonly [source: SystemSource, name: string]>()
  /** Those that could not be indexed: they are not tried again by this process. */
  const failed = new Set<string>()
  const stopping = new AbortController()
  let isStarted = false
  let working: Promise<void> | undefined
  let looking: Repeating | undefined

  const find = createFindSystem(resources, definitions)
  const thread = createIndexingThread()
  const index = async (source: SystemSource, name: string): Promise<void> => {
    const wanted = await find(source, name)
    if (wanted === undefined) return writer.end(source, name)
    const { edition, system } = wanted
    const key = JSON.stringify([source, name, edition])
    const rows = await database.all<SystemRow>(readNamed, [source, name])
    const ready = rows.find((row) => row.state === 'ready' && row.edition === edition)
    if (ready !== undefined || failed.has(key)) return
    let id: number | undefined
    try {
      let progress = { batches: 0, size: 0 }
      for await (const part of thread.read(system, stopping.signal)) {
        if (part.kind === 'header') {
          if (!isLarge(part.size)) return await writer.end(source, name)
          id = (await writer.begin({ source, name, edition, header: part.header })).id
        } else if (id !== undefined) {
          progress = { batches: progress.batches + 1, size: progress.size + part.rows.count }
          await writer.write(id, part.rows, progress)
        }
        stopping.signal.throwIfAborted()
      }
      if (id === undefined) return
      await writer.complete(id)
      changed()
      log.debug({ source, name, concepts: progress.size }, 'a code system was indexed')
    } catch (error) {
      if (stopping.signal.aborted) return
      failed.add(key)
      log.warn({ err: error, source, name }, 'a code system could not be indexed; it is answered from memory')
    }
  }
  const work = async (): Promise<void> => {
    for (const [key, [source, name]] of queue) {
      if (stopping.signal.aborted) return
      queue.delete(key)
      try {
        await index(source, name)
      } catch (error) {
        if (!stopping.signal.aborted) log.warn({ err: error, source, name }, 'a code system could not be looked at')
      }
    }
  }
  const begin = (): void => {
    if (!isStarted || working !== undefined || queue.size === 0 || stopping.signal.aborted) return
    working = work()
      .finally(thread.end)
      .finally(() => {
        working = undefined
        begin()
      })
  }
  const want = (source: SystemSource, name: string): void => {
    queue.set(JSON.stringify([source, name]), [source, name])
    // Not in the turn of a request.
    setImmediate(begin)
  }

  const lookThroughPackages = async (): Promise<void> => {
    const { fingerprint } = definitions
    const [row] = await database.all<{ packages: string }>(readIndexedPackages, [])
    if (row?.packages === fingerprint) return
    const names = new Set<string>()
    for (const definition of await definitions.all('CodeSystem'))
      if (mayBeLarge(definition.json.length)) names.add(nameOfPackaged(definition))
    for (const name of names) want('package', name)
    for (const { name } of await database.all<{ name: string }>(readPackaged, []))
      if (!names.has(name)) await writer.end('package', name)
    await database.transact((transaction) => transaction.run(setIndexedPackages, [fingerprint]))
  }
  return {
    want,
    async idle() {
      await new Promise((resolve) => setImmediate(resolve))
      while (working !== undefined) await working
    },
    async start() {
      // What was not completed before the last end begins anew; loads are gone on with by who began them.
      for (const { source, name } of await database.all<SystemRow>(readBuilding, []))
        if (source === 'stored' || source === 'package') {
          await writer.end(source, name)
          want(source, name)
        }
      isStarted = true
      begin()
      looking = every(
        clock,
        LOOK_MS,
        async () => {
          await lookThroughPackages()
          await writer.clean()
        },
        (error) => log.warn({ err: error }, 'the terminology index could not be cleaned up; tried again'),
      )
    },
    async stop() {
      stopping.abort()
      await looking?.stop()
      await working
    },
  }
}
