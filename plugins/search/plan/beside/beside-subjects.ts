/**
 * The index rows of resources beside the stored ones. They are extracted when a type is first searched, and kept while they
 * are the same resources and the search parameters are the same.
 */
import { createPause } from '../../../../kernel/index.ts'
import type { Transaction } from '../../../database/service.ts'
import type { Registry } from '../../index/registry.ts'
import type { ClauseSubject } from '../../query/clause.ts'
import type { BesideName, BesideSource } from './beside-source.ts'

export interface BesideSubject extends ClauseSubject {
  readonly rid: number
}

interface Extracted {
  readonly names: readonly BesideName[]
  readonly source: Registry['source']
  readonly subjects: readonly BesideSubject[]
}

/** A search beside the stored resources. */
export interface Beside {
  readonly source: BesideSource
  /** `only`: leaves out others where the type was not extracted yet. */
  subjects(
    type: string,
    transaction: Transaction | undefined,
    only?: (name: BesideName) => boolean,
  ): Promise<readonly BesideSubject[]>
}

const BATCH = 50 // texts in memory at once

export const createBeside = (source: BesideSource, registry: Pick<Registry, 'extract' | 'source'>): Beside => {
  const known = new Map<string, Extracted>()
  const running = new Map<string, Promise<Extracted>>()

  const extractAll = async (
    type: string,
    names: readonly BesideName[],
    transaction: Transaction | undefined,
  ): Promise<readonly BesideSubject[]> => {
    const pause = createPause()
    const subjects: BesideSubject[] = []
    for (let at = 0; at < names.length; at += BATCH)
      for (const { rid, id, versionTime, text } of await source.versions(
        type,
        names.slice(at, at + BATCH),
        transaction,
      )) {
        subjects.push({ type, id, rid, versionTime, rows: registry.extract(JSON.parse(text)) })
        await pause()
      }
    return subjects
  }
  const extract = async (
    type: string,
    names: readonly BesideName[],
    transaction: Transaction | undefined,
  ): Promise<Extracted> => {
    const { source: definedBy } = registry
    const made = { names, source: definedBy, subjects: await extractAll(type, names, transaction) }
    if (registry.source === definedBy) known.set(type, made)
    return made
  }

  return {
    source,
    async subjects(type, transaction, only) {
      const names = await source.list(type, transaction)
      const isCurrent = (one: Extracted | undefined): one is Extracted =>
        one !== undefined && one.names === names && one.source === registry.source
      const found = known.get(type)
      if (isCurrent(found)) return found.subjects
      if (only !== undefined) return extractAll(type, names.filter(only), transaction)
      // A transaction must not wait for reads outside of it, which may wait for its end.
      if (transaction !== undefined) return (await extract(type, names, transaction)).subjects
      const begun = running.get(type)
      if (begun !== undefined) {
        const made = await begun
        if (isCurrent(made)) return made.subjects
      }
      const work = extract(type, names, undefined).finally(() => {
        if (running.get(type) === work) running.delete(type)
      })
      running.set(type, work)
      return (await work).subjects
    },
  }
}
