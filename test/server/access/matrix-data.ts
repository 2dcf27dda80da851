/** What the leak matrix stores: versions of each resource, and the queries of which it knows what they mean. */
import type { Right } from '../../../kernel/index.ts'

export type Json = Record<string, any>

const reference = (to: string): Json => ({ reference: to })
const observation = (id: string, patient: string, status: string, code: string, more: Json = {}): Json => ({
  resourceType: 'Observation',
  id,
  status,
  code: { coding: [{ system: 'http://c', code }] },
  subject: reference(`Patient/${patient}`),
  ...more,
})
const patient = (id: string, active: boolean, gender: string): Json => ({ resourceType: 'Patient', id, active, gender })
const practitioner = (id: string, active: boolean): Json => ({ resourceType: 'Practitioner', id, active })
const encounter = (id: string, status: string, of: string): Json => ({
  resourceType: 'Encounter',
  id,
  status,
  class: { system: 'http://terminology.hl7.org/CodeSystem/v3-ActCode', code: 'AMB' },
  subject: reference(`Patient/${of}`),
})
const list = (id: string, status: string, of: string, items: readonly string[]): Json => ({
  resourceType: 'List',
  id,
  status,
  mode: 'working',
  subject: reference(`Patient/${of}`),
  entry: items.map((item) => ({ item: reference(item) })),
})
const binary = (id: string, context?: string): Json => ({
  resourceType: 'Binary',
  id,
  contentType: 'text/plain',
  data: 'aGlkZGVu',
  ...(context !== undefined && { securityContext: reference(context) }),
})

/** Versions of each resource, null for a deletion. */
export const VERSIONS: readonly (readonly (Json | null)[])[] = [
  [patient('p1', true, 'male'), patient('p1', true, 'female')],
  [patient('p2', false, 'male')],
  [patient('p3', true, 'female'), null],
  [practitioner('x', true)],
  [practitioner('y', false)],
  [encounter('v', 'finished', 'p1')],
  [encounter('w', 'planned', 'p1'), encounter('w', 'planned', 'p2')],
  [observation('a', 'p1', 'final', 'A'), observation('a', 'p1', 'final', 'B', { encounter: reference('Encounter/v') })],
  [observation('b', 'p1', 'preliminary', 'A', { performer: [reference('Practitioner/x')] })],
  [observation('c', 'p2', 'final', 'A', { performer: [reference('Practitioner/y')] })],
  [observation('d', 'p2', 'preliminary', 'C'), observation('d', 'p1', 'preliminary', 'C')],
  [observation('e', 'p1', 'final', 'B'), null],
  [
    observation('f', 'p2', 'preliminary', 'B'),
    observation('f', 'p2', 'final', 'A'),
    null,
    observation('f', 'p2', 'final', 'C', { encounter: reference('Encounter/w') }),
  ],
  [list('l', 'current', 'p1', ['Observation/a', 'Observation/c', 'Observation/b'])],
  [list('m', 'retired', 'p2', ['Observation/f'])],
  [
    {
      resourceType: 'Group',
      id: 'g',
      type: 'person',
      actual: true,
      member: [{ entity: reference('Patient/p1') }, { entity: reference('Patient/p2') }],
    },
  ],
  [binary('open')],
  [binary('of-p1', 'Patient/p1'), binary('of-p1', 'Patient/p2'), binary('of-p1', 'Patient/p1')],
  [binary('of-c', 'Observation/c')],
  [binary('of-gone', 'Patient/p3')],
  [
    {
      resourceType: 'ValueSet',
      id: 'vs',
      status: 'active',
      url: 'http://sets.example/vs',
      compose: { include: [{ system: 'http://c', concept: [{ code: 'A' }] }] },
    },
  ],
]

export const NEVER: readonly Json[] = [
  patient('never', true, 'male'),
  observation('never', 'p1', 'final', 'A'),
  binary('never'),
]
export const TYPES = [
  'Patient',
  'Observation',
  'Practitioner',
  'Encounter',
  'List',
  'Group',
  'Binary',
  'ValueSet',
] as const

/** Of each type that is ever in the compartment of a Patient: where it names them. */
export const COMPARTMENT: Readonly<Record<string, (one: Json) => readonly string[]>> = {
  Patient: ({ id }) => [`Patient/${id}`],
  Observation: ({ subject }) => [subject.reference],
  Encounter: ({ subject }) => [subject.reference],
  List: ({ subject }) => [subject.reference],
  Group: ({ member }) => member.map(({ entity }: Json) => entity.reference),
}

export interface Query {
  readonly text: string
  readonly holds: (one: Json) => boolean
}
const codeOf = (one: Json): string => one.code.coding[0].code

export const QUERIES: Readonly<Record<string, readonly Query[]>> = {
  Observation: [
    { text: 'status=final', holds: ({ status }) => status === 'final' },
    { text: 'code=A,C', holds: (one) => codeOf(one) !== 'B' },
    { text: 'code:not=http://c|A', holds: (one) => codeOf(one) !== 'A' },
    { text: 'status=preliminary&code=http://c|', holds: ({ status }) => status === 'preliminary' },
    { text: 'subject=Patient/p2', holds: ({ subject }) => subject.reference === 'Patient/p2' },
    { text: '_id=a,f', holds: ({ id }) => id === 'a' || id === 'f' },
  ],
  Patient: [
    { text: 'active=true', holds: ({ active }) => active },
    { text: 'gender:not=male', holds: ({ gender }) => gender !== 'male' },
  ],
  Practitioner: [{ text: 'active=false', holds: ({ active }) => !active }],
  Encounter: [{ text: 'status=finished', holds: ({ status }) => status === 'finished' }],
  List: [{ text: 'status=current', holds: ({ status }) => status === 'current' }],
  Group: [{ text: 'actual=true', holds: () => true }],
  Binary: [{ text: '_id=of-p1,of-c', holds: ({ id }) => id === 'of-p1' || id === 'of-c' }],
  ValueSet: [{ text: 'status=draft', holds: () => false }],
}

export const RIGHTS: readonly Right[] = ['c', 'r', 'u', 'd', 's']

/** What is there now, deletions left out. */
export const CURRENT: readonly Json[] = VERSIONS.flatMap((versions) => versions.at(-1) ?? [])
export const currentOf = (type: string): readonly Json[] => CURRENT.filter((one) => one.resourceType === type)
export const nameOf = ({ resourceType, id }: Json): string => `${resourceType}/${id}`

/** `Type/id` of everything a resource refers to. */
export const referencesOf = (value: unknown): readonly string[] => {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, inner]) =>
    key === 'reference' && typeof inner === 'string' ? [inner] : referencesOf(inner),
  )
}
