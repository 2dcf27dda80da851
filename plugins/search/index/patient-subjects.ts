/**
 * Finds the patients whose data a resource is, for the audit trail: those that the search parameters of the Patient
 * compartment point at, `subject` and `patient` of types outside the compartment, and Binary.securityContext. The other
 * paths are those of the search columns. The result is computed once for each version.
 */
import type { OwnUrl } from '../../../kernel/index.ts'
import { type ElementPath, isOwnBase, type PathStep, readLiteral } from '../../model/service.ts'
import type { Changed, StoredVersion } from '../../storage/service.ts'
import type { SearchDefinitions } from '../definition/stored-definitions.ts'
import { indexFindingsOf } from './index-findings.ts'
import { namesNoPatient, singlePatientReference } from './single-patient.ts'

type Json = Readonly<Record<string, unknown>>

export interface PatientSubjects {
  /** References such as `Patient/p1`, without duplicates. */
  ofResource(type: string, id: string, resource: Json | undefined, ownUrl: OwnUrl | undefined): readonly string[]
  ofVersion(version: StoredVersion, ownUrl: OwnUrl | undefined): readonly string[]
  /**
   * The patients of the version before and of the new one. `resource`: the new version, parsed; undefined when it is
   * deleted or its content has not changed.
   */
  ofChange(
    change: Pick<Changed, 'version' | 'previous' | 'resource' | 'patients'>,
    ownUrl: OwnUrl | undefined,
  ): readonly string[]
  /** True when the text of the version has to be read to find its patients. */
  mayHave(version: StoredVersion): boolean
}

const NONE: readonly string[] = Object.freeze([])
const ID = /^[A-Za-z0-9\-.]{1,64}$/
const REFERENCE = /^(?:.*\/)?Patient\/([A-Za-z0-9\-.]{1,64})(?:\/_history\/.*)?$/
const ABSOLUTE = /^[a-z][a-z0-9+.-]*:/i

const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null

/**
 * Tests a value against a filter of a path. A filter on the target's type always passes, because `patientIn` checks
 * the type in the end.
 */
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

/** Follows a path without making a list for each step. Paths with an index need lists: see `follow`. */
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

/**
 * The patient that a reference names, as `Patient/id`. Undefined for a patient of another server; an absolute
 * reference under `ownUrl` counts as a local one.
 */
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

/** Parameters that are also used for types outside the compartment, such as Device. */
const USUAL = ['subject', 'patient']

/** No search parameter has this path. */
const SECURITY_CONTEXT: ElementPath = {
  steps: [{ step: 'member', name: 'securityContext', many: false }],
  type: 'Reference',
}

type Parts = Pick<SearchDefinitions, 'parameters' | 'columns' | 'compartments'>

const branchesOf = ({ parameters, columns, compartments }: Parts): ReadonlyMap<string, readonly ElementPath[]> => {
  const members = compartments.Patient ?? {}
  // `patient` and `subject` mostly have the same path, which is followed only once.
  const found = new Map<string, Map<string, ElementPath>>()
  for (const { code, type, base, columns: places } of parameters) {
    if (type !== 'reference' || !(USUAL.includes(code) || members[base]?.includes(code) === true)) continue
    const branches = found.get(base) ?? new Map<string, ElementPath>()
    for (const { column } of places)
      for (const branch of columns[column]?.branches ?? []) branches.set(JSON.stringify(branch.steps), branch)
    if (branches.size > 0) found.set(base, branches)
  }
  const paths = new Map([...found].map(([base, branches]) => [base, [...branches.values()]]))
  // A Binary is to be treated as if it were that resource. https://hl7.org/fhir/R4/binary-definitions.html#Binary.securityContext
  paths.set('Binary', [SECURITY_CONTEXT])
  return paths
}

/**
 * Members of the resource that a path consists of. A Reference to a Patient in such a member is always found by the
 * path, so `singlePatientReference` can read it without following paths.
 */
const plainMembers = (paths: readonly ElementPath[]): ReadonlySet<string> => {
  const members = new Set<string>()
  for (const { steps } of paths) {
    const [first, ...rest] = steps
    if (first?.step === 'member' && rest.every((one) => one.step === 'where' && one.where.test === 'refers'))
      members.add(first.name)
  }
  return members
}

/** The resources in the entries of a Bundle. */
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
    // A Patient is data about itself, and about other Patients that it links to.
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
    // A Bundle may hold a Patient that none of its references names, so its entries have to be read.
    if (type === 'Bundle') return ofResource(type, id, JSON.parse(text) as Json, ownUrl)
    // Texts that name no patient, or exactly one, mostly need not be parsed.
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
