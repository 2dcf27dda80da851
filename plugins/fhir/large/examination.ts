/** Performs a task in a thread, with the functions that the main thread uses for small bodies, in the same order. */
import type { Issue, OwnUrl } from '../../../kernel/index.ts'
import type { ReferenceWalker, Slots } from '../../model/service.ts'
import {
  type Elements,
  NotLoaded,
  outlineOf,
  type ParsedResource,
  parseResource,
  piecesOf,
  readReferences,
  slotsOf,
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
import { decompressBody, packPart, toInstant } from '../../storage/service.ts'
import type { Validator } from '../../validation/service.ts'
import { relinkPatched, resolveFrom } from '../bundle/patch-links.ts'
import { readPatch, readPatchText } from '../patch/patch.ts'
import { present } from '../presentation/present.ts'
import { toFailure } from './failure.ts'
import type { Head, Outcome, Part } from './outcome.ts'
import type { PackedVersion, Task } from './task.ts'

type Json = Record<string, unknown>

// Characters from which on a thread compresses the text; shorter text is compressed when the version is stored.
const MIN_PACKED = 64 * 1024
const REFERENCES_OF_A_PART = 1_000
const CONTAINED_OF_A_PART = 20

export interface ExaminationParts {
  readonly referenceWalker: ReferenceWalker
  readonly isType: (name: string) => boolean
  readonly extraction: Extraction
  readonly patients: PatientSubjects
  readonly elements: Elements
  readonly fullTextMode: FullTextMode
  readonly validator: Validator | undefined
}

const NO_WORDS: ResourceText = { narrative: '', content: '' }

const versionTextOf = ({ bytes, encoding }: PackedVersion): string =>
  decompressBody(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength), encoding).toString('utf8')

const toShared = (text: string): Uint8Array => {
  const shared = Buffer.from(new SharedArrayBuffer(Buffer.byteLength(text)))
  shared.write(text)
  return shared
}

/** Undefined when `meta` is no object. The main thread refuses such a body when it compares it with the address. */
const trySlots = (read: ParsedResource): Slots | undefined => {
  try {
    return slotsOf(read)
  } catch (error) {
    if (toFailure(error) === undefined) throw error
    return undefined
  }
}

const slices = <T>(list: readonly T[], size: number): (readonly T[])[] =>
  Array.from({ length: Math.ceil(list.length / size) }, (_, at) => list.slice(at * size, (at + 1) * size))

export const createExamination = (parts: ExaminationParts) => {
  const { referenceWalker, isType, extraction, patients, elements, fullTextMode, validator } = parts
  const readWords = (resource: Json): ResourceText =>
    fullTextMode === 'none' ? NO_WORDS : resourceTextOf(resource, fullTextMode === 'all')

  /** Makes the index rows, the text for full-text search and the references. */
  const index = (
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
    if (isGuarded && rows !== undefined && old !== undefined)
      for (const one of toSharedLists(rows, old)) lists.push({ list: 'shared', rows: one })
    const addRows = (
      list: 'added' | 'removed',
      some: IndexEntries | undefined,
      others: IndexEntries | undefined,
    ): void => {
      if (some !== undefined) for (const one of toRowLists(some, others)) lists.push({ list, rows: one })
    }
    addRows('removed', old, rows)
    addRows('added', rows, old)
    for (const contained of slices(toContainedRows(extraction, indexed), CONTAINED_OF_A_PART))
      lists.push({ list: 'contained', contained })
    for (const contained of slices(toContainedRows(extraction, indexedBefore), CONTAINED_OF_A_PART))
      lists.push({ list: 'containedBefore', contained })
    if (resource !== undefined) {
      const references = readReferences(referenceWalker, isType, resource, ownUrl)
      const paths = referenceWalker.paths(resource)
      for (const [at, some] of slices(references, REFERENCES_OF_A_PART).entries()) {
        const from = at * REFERENCES_OF_A_PART
        lists.push({ list: 'references', references: some, paths: paths.slice(from, from + some.length) })
      }
    }
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

  const write = async (
    task: Extract<Task, { task: 'write' | 'patch' | 'remove' }>,
    bytes: Uint8Array,
    more: Partial<Head> = {},
  ): Promise<Outcome> => {
    const read = parseResource(bytes)
    const { text, resource, members } = read
    const slots = trySlots(read)
    const head: Head = { ...more, members, pieces: piecesOf(text, members), slots }
    // The main thread refuses a resource of another type.
    if (resource.resourceType !== task.type) return { head, parts: [] }
    let issues: readonly Issue[] = []
    try {
      issues = (await validator?.validateWrite(resource, { text })) ?? []
    } catch (error) {
      const refusal = toFailure(error)
      if (refusal === undefined) throw error
      return { head: { ...head, refusal }, parts: [] }
    }
    const found = index(task, read, slots, issues)
    return { head: { ...head, ...found.head }, parts: found.parts }
  }

  /**
   * The patched JSON; undefined when the patch changes nothing. The patch is applied again for each type whose elements
   * have to be loaded first.
   */
  const patched = async ({
    type,
    form,
    patch,
    links: source,
    before,
  }: Extract<Task, { task: 'patch' }>): Promise<string | undefined> => {
    const loaded = new Set<string>()
    const text = readPatchText(patch)
    const current = before === undefined ? '' : versionTextOf(before)
    for (;;)
      try {
        const made = readPatch(elements, type, form, text)(current)
        if (made === undefined || source === undefined) return made
        return relinkPatched(referenceWalker, resolveFrom(source), made, current)
      } catch (error) {
        if (!(error instanceof NotLoaded) || loaded.has(error.type)) throw error
        loaded.add(error.type)
        await elements.load(error.type)
      }
  }

  const patientsOf = (version: PackedVersion | undefined, ownUrl: OwnUrl | undefined): readonly string[] =>
    version === undefined
      ? []
      : patients.ofResource(version.type, version.id, JSON.parse(versionTextOf(version)) as Json, ownUrl)

  const perform = async (task: Task): Promise<Outcome> => {
    switch (task.task) {
      case 'write':
        return write(task, task.body)
      case 'patch': {
        const json = await patched(task)
        if (json === undefined) return { head: { patients: patientsOf(task.before, task.ownUrl) }, parts: [] }
        const text = toShared(json)
        return write(task, text, { text })
      }
      case 'remove':
        return index(task, undefined, undefined, [])
      case 'read': {
        const { text, members } = parseResource(task.body)
        return { head: { members, pieces: piecesOf(text, members), outline: outlineOf(text) }, parts: [] }
      }
      case 'check': {
        const { text, resource } = parseResource(task.body)
        return {
          head: { issues: (await validator?.check(resource, { text, profiles: task.profiles })) ?? [] },
          parts: [],
        }
      }
      case 'present':
        return {
          head: { text: toShared(present(versionTextOf(task.version), task.type, task.presentation)) },
          parts: [],
        }
      case 'patients':
        return { head: { patients: patientsOf(task.version, task.ownUrl) }, parts: [] }
    }
  }

  return async (task: Task): Promise<Outcome> => {
    try {
      return await perform(task)
    } catch (error) {
      const failure = toFailure(error)
      if (failure === undefined) throw error
      return { head: { failure }, parts: [] }
    }
  }
}
