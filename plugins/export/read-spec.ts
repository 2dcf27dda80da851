/**
 * Reads and checks the parameters of $export. What cannot be done is refused, or with `Prefer: handling=lenient` ignored
 * and noted. https://hl7.org/fhir/uv/bulkdata/STU2/export.html#query-parameters
 */
import { type Clock, isServerError, type Right, type Ruling, type ServerError } from '../../kernel/index.ts'
import { type Invocation, readPrefer, type SessionReads, withKnownElements } from '../fhir/service.ts'
import type { ResourceType } from '../model/service.ts'
import { extent, typeForbidden } from '../search/service.ts'
import {
  ExportElements,
  ExportFilter,
  ExportFormat,
  ExportPatient,
  ExportPatients,
  ExportType,
  ExportUndecidable,
} from './errors.ts'
import type { ExportSpec } from './export-spec.ts'
import { membersOf } from './members-of.ts'

const FORMATS: ReadonlySet<string> = new Set(['application/fhir+ndjson', 'application/ndjson', 'ndjson'])
const MAX_PATIENTS = 1_000
const SHOWN = 100 // characters of what was sent
const RIGHTS: readonly Right[] = ['r', 's']
const NEXT_FILTER = /,(?=[A-Z][A-Za-z]*\?)/
const ELEMENT = /^([A-Z][A-Za-z]*\.)?[A-Za-z][A-Za-z0-9]*(\.[A-Za-z0-9]+)*$/

export interface SpecParts {
  /** Types of the installed packages. */
  readonly types: ReadonlyMap<string, ResourceType>
  /** Types that are not stored as resources. */
  readonly isReadElsewhere: (type: string) => boolean
  /** Types in the compartment of a patient. */
  readonly inCompartment: ReadonlySet<string>
  /** Reads as the server itself: for queries as such, whoever asks. */
  readonly matches: SessionReads['matches']
  readonly clock: Clock
}

type Tolerate = (error: ServerError) => void

const listOf = (values: readonly string[]): readonly string[] =>
  values.flatMap((value) => value.split(',').map((one) => one.trim())).filter((one) => one !== '')

/** What keeps a type out of an export; undefined for one that can be exported. */
const whyNot = (parts: SpecParts, level: ExportSpec['level'], type: string): string | undefined => {
  if (!parts.types.has(type)) return 'no installed package has it'
  if (parts.isReadElsewhere(type)) return 'it is not stored as resources'
  if (level !== 'system' && type !== 'Patient' && !parts.inCompartment.has(type))
    return 'it is not in the compartment of patients'
  return undefined
}

const isClosed = (ruling: Ruling, type: string): boolean =>
  RIGHTS.some((right) => extent(ruling, type, right) === 'none')

/** Whether the caller may have resources of the type. Throws 403 where a resource alone does not show that. */
const isGranted = async ({ ruling, data }: Invocation, type: string): Promise<boolean> => {
  if (isClosed(ruling, type)) return false
  if (RIGHTS.every((right) => extent(ruling, type, right) === 'all')) return true
  try {
    // Access to a Binary is decided by its security context, one by one.
    if ((await data.matches(type, '')) === null && type !== 'Binary') throw ExportUndecidable(type)
    return true
  } catch (error) {
    // Granted in a compartment only that the type is never in.
    if (isServerError(error) && error.status === 403 && error.key !== ExportUndecidable.key) return false
    throw error
  }
}

const readTypes = async (
  parts: SpecParts,
  invocation: Invocation,
  level: ExportSpec['level'],
  tolerate: Tolerate,
): Promise<readonly string[]> => {
  const asked = listOf(invocation.inputs.all<string>('_type'))
  const candidates = asked.length > 0 ? [...new Set(asked)] : [...parts.types.keys()]
  const found: string[] = []
  for (const type of candidates) {
    const why = whyNot(parts, level, type)
    if (why !== undefined) {
      if (asked.length > 0) tolerate(ExportType(type.slice(0, SHOWN), why))
      continue
    }
    if (await isGranted(invocation, type)) found.push(type)
    else if (asked.length > 0) throw typeForbidden(invocation.ruling, type, 's')
  }
  if (found.length === 0 && asked.length === 0) throw typeForbidden(invocation.ruling, 'Patient', 's')
  return found.sort()
}

const readFilters = async (
  parts: SpecParts,
  { inputs }: Invocation,
  types: readonly string[],
  tolerate: Tolerate,
): Promise<ExportSpec['filters']> => {
  const filters: Record<string, string[]> = {}
  for (const text of inputs.all<string>('_typeFilter').flatMap((value) => value.split(NEXT_FILTER))) {
    const shown = text.slice(0, SHOWN)
    const at = text.indexOf('?')
    const type = at === -1 ? '' : text.slice(0, at)
    const query = text.slice(at + 1)
    try {
      if (type === '' || query === '') throw ExportFilter(shown, 'it has the form Observation?code=x')
      if (!types.includes(type)) throw ExportFilter(shown, 'its type is not among those that are exported')
      if ((await parts.matches(type, query)) === null)
        throw ExportFilter(shown, 'it cannot be decided by the resource alone, or not for all times alike')
      filters[type] = [...(filters[type] ?? []), query]
    } catch (error) {
      if (!isServerError(error) || error.status !== 400) throw error
      tolerate(error)
    }
  }
  return filters
}

const readElements = (
  parts: SpecParts,
  { inputs }: Invocation,
  types: readonly string[],
  tolerate: Tolerate,
): readonly string[] | undefined => {
  const named = listOf(inputs.all<string>('_elements')).filter((one) => {
    if (ELEMENT.test(one)) return true
    tolerate(ExportElements(one.slice(0, SHOWN)))
    return false
  })
  if (named.length === 0) return undefined
  const known = types.flatMap((type) => parts.types.get(type) ?? [])
  return withKnownElements({ pretty: false, elements: named }, known, 'the types of this export', (_name, error) =>
    tolerate(error),
  ).elements
}

const PATIENT = /^Patient\/([A-Za-z0-9\-.]{1,64})$/

const readPatients = async (
  { inputs, data }: Invocation,
  members: ReadonlySet<string> | undefined,
  tolerate: Tolerate,
): Promise<readonly string[] | undefined> => {
  const given = inputs.all<{ readonly reference?: unknown }>('patient')
  if (given.length === 0) return undefined
  if (given.length > MAX_PATIENTS) throw ExportPatients(MAX_PATIENTS)
  const found = new Set<string>()
  for (const { reference } of given) {
    const shown = String(reference).slice(0, SHOWN)
    const id = PATIENT.exec(String(reference))?.[1]
    try {
      if (id === undefined) throw ExportPatient(shown, 'no reference such as Patient/1')
      if (members !== undefined && !members.has(id)) throw ExportPatient(shown, 'no member of the Group')
      await data.read('Patient', id)
      found.add(id)
    } catch (error) {
      if (!isServerError(error) || error.status >= 500) throw error
      tolerate(error.status === 400 ? error : ExportPatient(shown, 'not here'))
    }
  }
  return [...found].sort()
}

const readSince = (text: string | undefined): number | undefined =>
  text === undefined ? undefined : Date.parse(text) * 1000 + 999

/** Throws 400, 403, and 404 for a Group that is not there. */
export const readSpec = async (
  parts: SpecParts,
  invocation: Invocation,
  level: ExportSpec['level'],
): Promise<ExportSpec> => {
  const { request, interaction, inputs, data } = invocation
  const notes: string[] = []
  const { lenient } = readPrefer(request.headers.prefer)
  const tolerate: Tolerate = (error) => {
    if (!lenient) throw error
    notes.push(error.message)
  }
  for (const name of inputs.ignored)
    notes.push(`The parameter "${name.slice(0, SHOWN)}" is not supported; it was ignored.`)
  const format = inputs.get<string>('_outputFormat')
  if (format !== undefined && !FORMATS.has(format.replace(' ', '+'))) throw ExportFormat(format.slice(0, SHOWN))
  const group = level === 'group' ? await data.read('Group', interaction.id as string) : undefined
  const types = await readTypes(parts, invocation, level, tolerate)
  return {
    level,
    request: `${request.baseUrl}${request.url}`,
    baseUrl: request.baseUrl,
    group: group?.id,
    patients: await readPatients(invocation, group && membersOf(group.parse(), parts.clock.now() * 1000), tolerate),
    types,
    filters: await readFilters(parts, invocation, types, tolerate),
    elements: readElements(parts, invocation, types, tolerate),
    since: readSince(inputs.get<string>('_since')),
    notes,
  }
}
