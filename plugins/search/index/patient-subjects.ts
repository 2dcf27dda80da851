/**
 * Whose data a resource is, for the trail: the patients that the search parameters of the Patient compartment point at,
 * and `subject` and `patient` of types that are in no compartment. Paths through JSON, as the search knows them; the
 * answer about a version is worked out once.
 */
import type { OwnUrl } from '../../../kernel/index.ts'
import { type ElementPath, isOwnBase, type PathStep, readLiteral } from '../../model/service.ts'
import type { Changed, StoredVersion } from '../../storage/service.ts'
import type { SearchDefinitions } from '../definition/stored-definitions.ts'
import { indexFindingsOf } from './index-findings.ts'
import { namesNoPatient, singlePatientReference } from './single-patient.ts'

type Json = Readonly<Record<string, unknown>>

export interface PatientSubjects {
  /** `Patient/p1`, each once. */
  ofResource(type: string, id: string, resource: Json | undefined, ownUrl: OwnUrl | undefined): readonly string[]
  ofVersion(version: StoredVersion, ownUrl: OwnUrl | undefined): readonly string[]
  /** Whose it was and whose it is. `resource`: the next version, parsed; undefined where it is deleted or stays as it is. */
  ofChange(
    change: Pick<Changed, 'version' | 'previous' | 'resource' | 'patients'>,
    ownUrl: OwnUrl | undefined,
  ): readonly string[]
  /** Does it take its text to tell? */
  mayHave(version: StoredVersion): boolean
}

const NONE: readonly string[] = Object.freeze([])
const ID = /^[A-Za-z0-9\-.]{1,64}$/
const REFERENCE = /^(?:.*\/)?Patient\/([A-Za-z0-9\-.]{1,64})(?:\/_history\/.*)?$/
const ABSOLUTE = /^[a-z][a-z0-9+.-]*:/i

const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null

/** Keeps values that may be meant; whether a reference leads to a Patient is looked at in the end. */
const holds = (value: unknown, step: Extract<PathStep, { step: 'where' }>): boolean => {
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

const follow = (start: Json, steps: readonly PathStep[]): readonly unknown[] => {
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
const visit = (start: unknown, steps: readonly PathStep[], from: number, found: (value: unknown) => void): void => {
  let value = start
  for (let at = from; at < steps.length; at += 1) {
    const step = steps[at] as PathStep
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

/** The patient a reference names. One on another server is none of ours; an absolute one under `ownUrl` is. */
const patientIn = (value: unknown, ownUrl: OwnUrl | undefined): string | undefined => {
  const reference = isObject(value) ? value.reference : undefined
  if (typeof reference !== 'string') return undefined
  const literal = readLiteral(reference)
  if (literal?.base === '' && literal.version === undefined) return literal.type === 'Patient' ? reference : undefined
  if (ABSOLUTE.test(reference))
    return literal?.type === 'Patient' && isOwnBase(literal.base, ownUrl) ? `Patient/${literal.id}` : undefined
  const id = REFERENCE.exec(reference)?.[1]
  return id === undefined ? undefined : `Patient/${id}`
}

/** Parameters of types that the compartment leaves out, such as Device, or that it does not know. */
const USUAL = ['subject', 'patient']

type Parts = Pick<SearchDefinitions, 'parameters' | 'columns' | 'compartments'>

const branchesOf = ({ parameters, columns, compartments }: Parts): ReadonlyMap<string, readonly ElementPath[]> => {
  const members = compartments.Patient ?? {}
  // `patient` and `subject` mostly are one path, which is followed once.
  const found = new Map<string, Map<string, ElementPath>>()
  for (const { code, type, base, columns: places } of parameters) {
    if (type !== 'reference' || !(USUAL.includes(code) || members[base]?.includes(code) === true)) continue
    const branches = found.get(base) ?? new Map<string, ElementPath>()
    for (const { column } of places)
      for (const branch of columns[column]?.branches ?? []) branches.set(JSON.stringify(branch.steps), branch)
    if (branches.size > 0) found.set(base, branches)
  }
  return new Map([...found].map(([base, branches]) => [base, [...branches.values()]]))
}

/** Members that a path ends at: any reference to a Patient that stands in one of them, alone in the resource, is found. */
const plainMembers = (paths: readonly ElementPath[]): ReadonlySet<string> => {
  const members = new Set<string>()
  for (const { steps } of paths) {
    const [first, ...rest] = steps
    if (first?.step === 'member' && rest.every((one) => one.step === 'where' && one.where.test === 'refers'))
      members.add(first.name)
  }
  return members
}

/** Resources that a Bundle holds. */
const heldIn = ({ entry }: Json): readonly Json[] =>
  Array.isArray(entry) ? entry.flatMap((one) => (isObject(one) && isObject(one.resource) ? [one.resource] : [])) : []

export const createPatientSubjects = (model: Parts): PatientSubjects => {
  const branches = branchesOf(model)
  const plain = new Map([...branches].map(([type, paths]) => [type, plainMembers(paths)]))
  const mayName = (type: string): boolean => type === 'Bundle' || branches.has(type)

  const addAll = (
    found: Set<string>,
    type: string,
    id: unknown,
    resource: Json | undefined,
    ownUrl: OwnUrl | undefined,
  ): void => {
    // A Patient is first of all itself; it may be linked to others.
    if (type === 'Patient' && typeof id === 'string' && ID.test(id)) found.add(`Patient/${id}`)
    if (resource === undefined) return
    if (type === 'Bundle')
      for (const held of heldIn(resource)) addAll(found, String(held.resourceType), held.id, held, ownUrl)
    const add = (value: unknown): void => {
      const patient = patientIn(value, ownUrl)
      if (patient !== undefined) found.add(patient)
    }
    for (const { steps } of branches.get(type) ?? [])
      if (steps.some(({ step }) => step === 'index')) for (const value of follow(resource, steps)) add(value)
      else visit(resource, steps, 0, add)
  }
  const ofResource: PatientSubjects['ofResource'] = (type, id, resource, ownUrl) => {
    const known = indexFindingsOf(resource)?.patients
    if (known !== undefined) return known
    const found = new Set<string>()
    addAll(found, type, id, resource, ownUrl)
    return found.size === 0 ? NONE : [...found]
  }
  const read = (version: StoredVersion, ownUrl: OwnUrl | undefined): readonly string[] => {
    const { type, id, text } = version
    // A Bundle may hold a Patient that nothing in it refers to.
    if (type === 'Bundle') return ofResource(type, id, JSON.parse(text) as Json, ownUrl)
    // Most of what names no patient, or one, is told apart without being parsed.
    if (namesNoPatient(text)) return type === 'Patient' ? [`Patient/${id}`] : NONE
    const members = type === 'Patient' ? undefined : plain.get(type)
    const reference = members && singlePatientReference(text, members)
    if (reference === undefined) return ofResource(type, id, JSON.parse(text) as Json, ownUrl)
    const patient = patientIn({ reference }, ownUrl)
    return patient === undefined ? NONE : [patient]
  }
  const patients: PatientSubjects = {
    ofResource,
    mayHave: ({ type, deleted }) => mayName(type) && !deleted,
    ofVersion(version, ownUrl) {
      const { type, id, deleted } = version
      if (deleted || !mayName(type)) return type === 'Patient' ? [`Patient/${id}`] : NONE
      return version.patients(ownUrl, (one) => read(one, ownUrl))
    },
    ofChange({ version, previous, resource, patients: known }, ownUrl) {
      if (known !== undefined) return known
      const { type, id } = version
      if (indexFindingsOf(resource) !== undefined) return ofResource(type, id, resource, ownUrl)
      const is = resource === undefined ? patients.ofVersion(version, ownUrl) : ofResource(type, id, resource, ownUrl)
      const was =
        previous === undefined || previous.version === version.version ? NONE : patients.ofVersion(previous, ownUrl)
      return was.every((one) => is.includes(one)) ? is : [...new Set([...was, ...is])]
    },
  }
  return patients
}
