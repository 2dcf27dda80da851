/** Makes the index rows, the text for full-text search and the references of a resource, in parts. */
import type { Issue, OwnUrl } from '../../../kernel/index.ts'
import {
  type ParsedResource,
  type ReferenceWalker,
  readReferences,
  type Slots,
  templateOf,
} from '../../model/service.ts'
import type { Extraction, FullTextMode, IndexEntries, PatientSubjects, ResourceText } from '../../search/service.ts'
import {
  addKeys,
  indexedOf,
  resourceTextOf,
  toContainedRows,
  toRowLists,
  toSharedLists,
} from '../../search/thread-service.ts'
import { packPart, toInstant } from '../../storage/thread-service.ts'
import type { Outcome, Part } from './outcome.ts'
import type { Task } from './task.ts'
import { versionTextOf } from './version-text.ts'

type Json = Record<string, unknown>

// Characters from which on a thread compresses the text; shorter text is compressed when the version is stored.
const MIN_PACKED = 64 * 1024
const REFERENCES_OF_A_PART = 1_000
const CONTAINED_OF_A_PART = 20

const NO_WORDS: ResourceText = { narrative: '', content: '' }

const slices = <T>(list: readonly T[], size: number): (readonly T[])[] =>
  Array.from({ length: Math.ceil(list.length / size) }, (_, at) => list.slice(at * size, (at + 1) * size))

/** Adds the difference of the rows before and after a change. */
const addRowParts = (
  lists: Part[],
  rows: IndexEntries | undefined,
  old: IndexEntries | undefined,
  isGuarded: boolean,
): void => {
  if (isGuarded && rows !== undefined && old !== undefined)
    for (const one of toSharedLists(rows, old)) lists.push({ list: 'shared', rows: one })
  if (old !== undefined) for (const one of toRowLists(old, rows)) lists.push({ list: 'removed', rows: one })
  if (rows !== undefined) for (const one of toRowLists(rows, old)) lists.push({ list: 'added', rows: one })
}

export interface IndexOutcomeParts {
  readonly referenceWalker: ReferenceWalker
  readonly isType: (name: string) => boolean
  readonly extraction: Extraction
  readonly patients: PatientSubjects
  readonly fullTextMode: FullTextMode
}

export const createIndexOutcome = ({
  referenceWalker,
  isType,
  extraction,
  patients,
  fullTextMode,
}: IndexOutcomeParts) => {
  const readWords = (resource: Json): ResourceText =>
    fullTextMode === 'none' ? NO_WORDS : resourceTextOf(resource, fullTextMode === 'all')

  const addContainedParts = (
    lists: Part[],
    list: 'contained' | 'containedBefore',
    indexed: Parameters<typeof toContainedRows>[1],
  ): void => {
    for (const contained of slices(toContainedRows(extraction, indexed), CONTAINED_OF_A_PART))
      lists.push({ list, contained })
  }

  const addReferenceParts = (lists: Part[], resource: Json, ownUrl: OwnUrl | undefined): void => {
    const references = readReferences(referenceWalker, isType, resource, ownUrl)
    const paths = referenceWalker.paths(resource)
    for (const [at, some] of slices(references, REFERENCES_OF_A_PART).entries()) {
      const from = at * REFERENCES_OF_A_PART
      lists.push({ list: 'references', references: some, paths: paths.slice(from, from + some.length) })
    }
  }

  return (
    { type, id, ownUrl, before, isGuarded }: Extract<Task, { task: 'write' | 'patch' | 'remove' }>,
    read: ParsedResource | undefined,
    slots: Slots | undefined,
    issues: readonly Issue[],
  ): Outcome => {
    const resource = read?.resource
    const textBefore = before && versionTextOf(before)
    const earlier = textBefore === undefined ? undefined : (JSON.parse(textBefore) as Json)
    const indexed = read && indexedOf(read.resource, read.text)
    const indexedBefore = earlier && indexedOf(earlier, textBefore as string)
    const rows = indexed && extraction.extract(indexed)
    const old = indexedBefore && extraction.extract(indexedBefore)
    const keys: number[] = []
    for (const one of [old, rows]) if (one !== undefined) addKeys(one, keys)
    const lists: Part[] = []
    addRowParts(lists, rows, old, isGuarded)
    addContainedParts(lists, 'contained', indexed)
    addContainedParts(lists, 'containedBefore', indexedBefore)
    if (resource !== undefined) addReferenceParts(lists, resource, ownUrl)
    if (earlier !== undefined && isGuarded)
      for (const some of slices(readReferences(referenceWalker, isType, earlier, ownUrl), REFERENCES_OF_A_PART))
        lists.push({ list: 'referencesBefore', references: some })
    const template = read && slots && templateOf(slots, () => read.text)
    const isPacked = read !== undefined && read.text.length >= MIN_PACKED
    return {
      head: {
        findings: {
          issues,
          parts: isPacked ? template?.fixed.map(packPart) : undefined,
          hasShared: isGuarded,
          present: rows?.present ?? [],
          masks: rows === undefined ? [] : extraction.masks(type, rows),
          // A change counts a key once, however many rows have it.
          keys: [...new Set(keys)],
          words: resource === undefined ? NO_WORDS : readWords(resource),
          patients: [
            ...new Set(
              [earlier, resource].flatMap((one) =>
                one === undefined ? [] : patients.ofResource(type, id, one, ownUrl),
              ),
            ),
          ],
          before: before &&
            earlier && {
              version: before.version,
              isSame: template?.fill(before.id, before.version, toInstant(before.versionTime)) === textBefore,
              present: old?.present ?? [],
              words: readWords(earlier),
            },
        },
      },
      parts: lists,
    }
  }
}
