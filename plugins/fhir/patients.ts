/**
 * Whose data a resource is, for the trail: what its type's search parameter `patient` points at, else `subject`. Paths
 * through JSON, as the search knows them; the answer about a version is worked out once.
 */
import type { FactDetails } from '../../kernel/index.ts'
import { readLiteral } from './links/literal.ts'
import type { Branch, Step } from './search/branches.ts'
import type { StoredModel } from './search/model.ts'
import type { FhirServer } from './server.ts'
import { namesNone, soleReference } from './sole-reference.ts'
import type { StoredVersion } from './store/version.ts'

type Json = Readonly<Record<string, unknown>>

export interface Patients {
  /** `Patient/p1`, each once. */
  ofResource(type: string, id: string, resource: Json | undefined): readonly string[]
  ofVersion(version: StoredVersion): readonly string[]
}

const NONE: readonly string[] = Object.freeze([])
const REFERENCE = /^(?:.*\/)?Patient\/([A-Za-z0-9\-.]{1,64})(?:\/_history\/.*)?$/
const ABSOLUTE = /^[a-z][a-z0-9+.-]*:/i

const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null

/** Keeps values that may be meant; whether a reference leads to a Patient is looked at in the end. */
const holds = (value: unknown, step: Extract<Step, { step: 'where' }>): boolean => {
  if (!isObject(value)) return false
  const { where } = step
  switch (where.test) {
    case 'equals':
      return value[where.member] === where.value
    case 'exists':
      return value[where.member] !== undefined
    case 'extension':
      return Array.isArray(value.extension) && value.extension.some((one) => isObject(one) && one.url === where.url)
    case 'refers':
      return true
  }
}

const follow = (start: Json, steps: readonly Step[]): readonly unknown[] => {
  let values: readonly unknown[] = [start]
  for (const step of steps) {
    if (step.step === 'member')
      values = values.flatMap((value) =>
        isObject(value) && value[step.name] !== undefined ? [value[step.name]].flat() : [],
      )
    else if (step.step === 'index') values = values.slice(step.at, step.at + 1)
    else values = values.filter((value) => holds(value, step))
  }
  return values
}

/** Without a list for each step, which few paths need. */
const visit = (start: unknown, steps: readonly Step[], from: number, found: (value: unknown) => void): void => {
  let value = start
  for (let at = from; at < steps.length; at += 1) {
    const step = steps[at] as Step
    if (step.step === 'member') {
      const next: unknown = isObject(value) ? value[step.name] : undefined
      if (next === undefined) return
      if (Array.isArray(next)) {
        for (const one of next) visit(one, steps, at + 1, found)
        return
      }
      value = next
    } else if (step.step === 'where' && !holds(value, step)) return
  }
  found(value)
}

/** The patient a reference names. One on another server is none of ours. */
const patientIn = (value: unknown): string | undefined => {
  const reference = isObject(value) ? value.reference : undefined
  if (typeof reference !== 'string') return undefined
  const literal = readLiteral(reference)
  if (literal?.base === '' && literal.version === undefined) return literal.type === 'Patient' ? reference : undefined
  if (ABSOLUTE.test(reference)) return undefined
  const id = REFERENCE.exec(reference)?.[1]
  return id === undefined ? undefined : `Patient/${id}`
}

const branchesOf = ({ parameters, columns }: StoredModel): ReadonlyMap<string, readonly Branch[]> => {
  const found = new Map<string, readonly Branch[]>()
  for (const code of ['subject', 'patient'])
    for (const parameter of parameters)
      if (parameter.code === code && parameter.type === 'reference') {
        const branches = parameter.columns.flatMap(({ column }) => columns[column]?.branches ?? [])
        if (branches.length > 0) found.set(parameter.base, branches)
      }
  return found
}

/** Members whose references are all that the paths reach; undefined where a path goes on or chooses by anything else. */
const plainMembers = (paths: readonly Branch[]): ReadonlySet<string> | undefined => {
  const members = new Set<string>()
  for (const { steps } of paths) {
    const [first, ...rest] = steps
    if (first?.step !== 'member' || !rest.every((one) => one.step === 'where' && one.where.test === 'refers'))
      return undefined
    members.add(first.name)
  }
  return members
}

export const createPatients = (model: StoredModel): Patients => {
  const branches = branchesOf(model)
  const plain = new Map([...branches].map(([type, paths]) => [type, plainMembers(paths)]))

  const ofResource: Patients['ofResource'] = (type, id, resource) => {
    if (type === 'Patient') return [`Patient/${id}`]
    const paths = branches.get(type)
    if (paths === undefined || resource === undefined) return NONE
    const found = new Set<string>()
    const add = (value: unknown): void => {
      const patient = patientIn(value)
      if (patient !== undefined) found.add(patient)
    }
    for (const { steps } of paths)
      if (steps.some(({ step }) => step === 'index')) for (const value of follow(resource, steps)) add(value)
      else visit(resource, steps, 0, add)
    return [...found]
  }
  const read = (version: StoredVersion): readonly string[] => {
    const { type, id, text } = version
    // Most of what names no patient, or one, is told apart without being parsed.
    if (namesNone(text)) return NONE
    const members = plain.get(type)
    const reference = members && soleReference(text, members)
    if (reference === undefined) return ofResource(type, id, JSON.parse(text) as Json)
    const patient = patientIn({ reference })
    return patient === undefined ? NONE : [patient]
  }
  return {
    ofResource,
    ofVersion(version) {
      const { type, id } = version
      if (type === 'Patient') return [`Patient/${id}`]
      if (!branches.has(type) || version.deleted) return NONE
      return version.patients(read)
    },
  }
}

/** What the trail is told of a version that was shown. */
export const detailsOf = (
  { run, patients }: FhirServer,
  version: StoredVersion | undefined,
): FactDetails | undefined =>
  version === undefined || run.onAudit === null ? undefined : { patients: () => patients.ofVersion(version) }

/** Of several versions, each patient once; mostly they are of one. */
export const patientsIn = ({ patients }: FhirServer, versions: readonly StoredVersion[]): readonly string[] => {
  const found: string[] = []
  for (const version of versions)
    for (const patient of patients.ofVersion(version)) if (patient !== found.at(-1)) found.push(patient)
  return found.length < 2 ? found : [...new Set(found)]
}

/** Whose data several versions are, and how they were asked for; nothing when nobody wants to know. */
export const withDetails = (
  { run }: FhirServer,
  patients: () => readonly string[],
  query: () => string,
): { readonly details?: FactDetails } => (run.onAudit === null ? {} : { details: { query, patients } })
