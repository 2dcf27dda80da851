/** Performs a task in a thread, with the functions that the main thread uses for small bodies, in the same order. */
import type { Issue, OwnUrl } from '../../../kernel/index.ts'
import {
  type Elements,
  outlineOf,
  type ParsedResource,
  parseResource,
  piecesOf,
  type Slots,
  slotsOf,
  type XmlCodec,
} from '../../model/service.ts'
import type { Validator } from '../../validation/service.ts'
import { present } from '../presentation/present.ts'
import { toFailure } from './failure.ts'
import { createIndexOutcome, type IndexOutcomeParts } from './index-outcome.ts'
import type { Head, Outcome } from './outcome.ts'
import { createPatchedText } from './patched-text.ts'
import type { PackedVersion, Task } from './task.ts'
import { versionTextOf } from './version-text.ts'

type Json = Record<string, unknown>

export interface ExaminationParts extends IndexOutcomeParts {
  readonly elements: Elements
  readonly validator: Validator | undefined
  readonly xml: Pick<XmlCodec, 'toJson' | 'toXml'>
}

const toShared = (text: string): Uint8Array => {
  const shared = Buffer.from(new SharedArrayBuffer(Buffer.byteLength(text)))
  shared.write(text)
  return shared
}

const toText = ({ buffer, byteOffset, byteLength }: Uint8Array): string =>
  Buffer.from(buffer, byteOffset, byteLength).toString('utf8')

/** Undefined when `meta` is no object. The main thread refuses such a body when it compares it with the address. */
const trySlots = (read: ParsedResource): Slots | undefined => {
  try {
    return slotsOf(read)
  } catch (error) {
    if (toFailure(error) === undefined) throw error
    return undefined
  }
}

export const createExamination = (parts: ExaminationParts) => {
  const { referenceWalker, patients, elements, validator, xml } = parts
  const index = createIndexOutcome(parts)
  const patched = createPatchedText(elements, referenceWalker)

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
      case 'readXml':
        return { head: { text: toShared(await xml.toJson(task.body)) }, parts: [] }
      case 'writeXml':
        return { head: { text: toShared(await xml.toXml(toText(task.json), task.pretty)) }, parts: [] }
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
