/**
 * $meta, $meta-add, $meta-delete: read and change the profiles, tags and security labels of a resource; $meta also
 * lists those of a type or of the server. https://hl7.org/fhir/R4/resource-operation-meta.html, -meta-add, -meta-delete
 */

import { findMember, isObject, parseExact } from '../../model/service.ts'
import { refuseRestricted } from '../dispatch.ts'
import type { BuiltInInvocation, BuiltInOperation } from './built-in.ts'
import { MetaTooMany } from './errors.ts'
import type { OperationChanges } from './operation.ts'

type Json = Record<string, unknown>

const KINDS = ['profile', 'tag', 'security'] as const
type Kind = (typeof KINDS)[number]
const MAX_LABELLED = 10_000 // resources read for one answer, one for each label

const listOf = (meta: unknown, kind: Kind): readonly unknown[] => {
  const list = isObject(meta) ? meta[kind] : undefined
  return Array.isArray(list) ? list : []
}

/** Labels with the same identity are equal: the URL of a profile, system and code of a tag or security label. */
const identityOf = (label: unknown): string => {
  if (!isObject(label)) return JSON.stringify(label)
  const { system, code, display } = label
  return JSON.stringify(code === undefined ? [system, null, display] : [system, code])
}

/** The first label of each identity. */
const distinct = (labels: readonly unknown[]): readonly unknown[] =>
  [...new Map([...labels].reverse().map((label) => [identityOf(label), label])).values()].reverse()

const asParameters = (valueMeta: unknown): object => ({
  resourceType: 'Parameters',
  parameter: [{ name: 'return', valueMeta }],
})

/** All labels of a type or of every type. */
const summary = async (invocation: BuiltInInvocation): Promise<object> => {
  const { view, request, ruling, interaction } = invocation
  // The list of labels comes from the index of all resources, whoever may see them, so restricted callers are refused.
  refuseRestricted(ruling, interaction.type)
  const types = interaction.type === undefined ? undefined : [interaction.type]
  const labelled = await view.search.labelled(types, MAX_LABELLED, request)
  if (labelled === undefined) throw MetaTooMany(MAX_LABELLED)
  const found: Record<Kind, unknown[]> = { profile: [], tag: [], security: [] }
  for (const { text } of labelled) {
    const meta = metaOf(text)
    for (const kind of KINDS) found[kind].push(...listOf(meta, kind))
  }
  const meta: Json = {}
  for (const kind of KINDS) {
    const labels = distinct(found[kind])
    if (labels.length > 0) meta[kind] = labels
  }
  return meta
}

/** The resource may be large, so that only this member is parsed, which lies near the beginning. */
const metaOf = (json: string): unknown => {
  const member = findMember(json, 'meta')
  return member && parseExact(json.slice(member.valueStart, member.valueEnd))
}

/** The text of a resource with another `meta`; everything else stays as it is. */
const withMeta = (json: string, meta: Json): string => {
  const member = findMember(json, 'meta')
  const text = JSON.stringify(meta)
  if (member !== undefined) return json.slice(0, member.valueStart) + text + json.slice(member.valueEnd)
  const begin = json.indexOf('{') + 1
  return `${json.slice(0, begin)}"meta":${text},${json.slice(begin)}`
}

/** The JSON of a resource with changed labels; undefined when no label changes. */
const relabel = (
  json: string,
  change: (held: readonly unknown[], kind: Kind) => readonly unknown[],
): string | undefined => {
  const held = metaOf(json)
  const meta: Json = isObject(held) ? held : {}
  let isChanged = false
  for (const kind of KINDS) {
    const before = listOf(meta, kind)
    const changed = change(before, kind)
    if (changed.length === before.length) continue
    isChanged = true
    if (changed.length === 0) delete meta[kind]
    else meta[kind] = changed
  }
  return isChanged ? withMeta(json, meta) : undefined
}

const changing =
  (change: (held: readonly unknown[], given: readonly unknown[]) => readonly unknown[]) =>
  async ({ interaction, inputs, data }: BuiltInInvocation): Promise<OperationChanges> => {
    const { type = '', id = '' } = interaction
    const given = inputs.get<Json>('meta')
    const current = await data.read(type, id)
    return {
      changes: [
        {
          kind: 'modify',
          type,
          id,
          modify: (json) => relabel(json, (held, kind) => change(held, listOf(given, kind))),
        },
      ],
      answer: ([made]) => ({ resource: asParameters(metaOf(made?.json ?? current.json)) }),
    }
  }

const definition = (code: string): string => `http://hl7.org/fhir/OperationDefinition/Resource-${code}`
const META = { name: 'meta', type: 'Meta', min: 1 }

export const metaOperations: readonly BuiltInOperation[] = [
  {
    code: 'meta',
    definition: definition('meta'),
    documentation: 'The profiles, tags and security labels of a resource, of a type, or of all.',
    levels: ['system', 'type', 'instance'],
    parameters: [],
    async answer(invocation) {
      const { type, id } = invocation.interaction
      if (type === undefined || id === undefined) return { resource: asParameters(await summary(invocation)) }
      return { resource: asParameters(metaOf((await invocation.data.read(type, id)).json)) }
    },
  },
  {
    code: 'meta-add',
    definition: definition('meta-add'),
    documentation: 'Adds profiles, tags and security labels; a new version only where one of them is new.',
    levels: ['instance'],
    parameters: [{ ...META, documentation: 'What to add.' }],
    change: changing((held, given) => {
      const known = new Set(held.map(identityOf))
      return [...held, ...distinct(given).filter((label) => !known.has(identityOf(label)))]
    }),
  },
  {
    code: 'meta-delete',
    definition: definition('meta-delete'),
    documentation: 'Takes profiles, tags and security labels away; a new version only where one of them was there.',
    levels: ['instance'],
    parameters: [{ ...META, documentation: 'What to take away.' }],
    change: changing((held, given) => {
      const gone = new Set(given.map(identityOf))
      return held.filter((label) => !gone.has(identityOf(label)))
    }),
  },
]
