/**
 * What the generated checks call besides the faults: nested resources, contained resources (dom-2 to dom-5, ref-1),
 * the `_name` siblings of primitives, the narrative. Holds the state of the validation that is under way.
 */
import { type EvaluationBudget, MAX_COST } from '../../model/service.ts'
import { quoted, type StructureFaultFactory, type StructureFaults } from './structure-issues.ts'
import { createNarrativeCheck } from './xhtml.ts'

/** A generated function: the faults of an object, null when it is valid. */
export type GeneratedCheck = (value: any) => StructureFaults

interface Local {
  /** `#id` or `#` */
  readonly target: string
  /** Reference or canonical; only these may mean the container by `#`. */
  readonly strong: boolean
  /** The index of the contained resource it was found in, -1 outside. */
  readonly within: number
}

export interface RunContext {
  /** Members of all objects seen. */
  keys: number
  /** Whole numbers of the types integer, positiveInt and unsignedInt seen. */
  integers: number
  /** For expressions: what may still be done. */
  readonly work: EvaluationBudget
  /** The resource that is being checked, contained or not: %resource. */
  resource: unknown
  /** The resource that is contained in none: %rootResource. */
  root: unknown
  local(target: string, strong: boolean): void
  /** An extension with that URL is met. */
  extension(url: string): void
  /** The URLs of all extensions met. */
  readonly extensions: ReadonlySet<string>
}

export interface ValidationRun {
  readonly context: RunContext
  readonly functions: Readonly<Record<string, unknown>>
  /** The check of any resource, by its resourceType. */
  readonly anyResource: GeneratedCheck
  reset(): void
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** `resource(type)`: the check of that resource type, undefined when there is no such type. */
export const createValidationRun = (
  faults: StructureFaultFactory,
  resource: (type: string) => GeneratedCheck | undefined,
): ValidationRun => {
  const checkNarrative = createNarrativeCheck()
  let ids: Set<unknown> | null = null
  let locals: Local[] = []
  let within = -1
  let isContained = false
  /** Of most resources; a set is made for those that have extensions. */
  const noUrls: ReadonlySet<string> = new Set()
  let extensions: Set<string> | undefined

  const context: RunContext = {
    keys: 0,
    integers: 0,
    work: { left: MAX_COST },
    resource: undefined,
    root: undefined,
    local(target, strong) {
      locals.push({ target, strong, within })
    },
    extension(url) {
      extensions ??= new Set()
      extensions.add(url)
    },
    get extensions() {
      return extensions ?? noUrls
    },
  }

  const check = (value: any): StructureFaults => {
    if (!isObject(value)) return faults.notObject(value)
    const type = value.resourceType
    if (typeof type !== 'string') {
      return faults.add(null, 'structure', '.resourceType', 'a resource needs its type as the string resourceType')
    }
    const typeCheck = resource(type)
    return typeCheck === undefined
      ? faults.add(
          null,
          'structure',
          '.resourceType',
          `${JSON.stringify(type).slice(0, 70)} is not a resource type here`,
        )
      : typeCheck(value)
  }

  /**
   * No two contained resources have one id (https://hl7.org/fhir/R4/references.html#contained), and dom-3: something refers
   * to each, or it refers to its container.
   */
  const containment = (found: StructureFaults, resource: Record<string, unknown>, from: number): StructureFaults => {
    if (!Array.isArray(resource.contained)) return found
    const targets = new Set<string>()
    const upwards = new Set<number>()
    for (let at = from; at < locals.length; at++) {
      const local = locals[at]!
      targets.add(local.target)
      if (local.strong && local.target === '#') upwards.add(local.within)
    }
    let list = found
    const places = new Map<unknown, number>()
    resource.contained.forEach((contained, index) => {
      if (!isObject(contained) || typeof contained.resourceType !== 'string') return
      const { id } = contained
      const earlier = places.get(id)
      if (id !== undefined && earlier !== undefined) {
        list = faults.add(
          list,
          'invariant',
          `.contained[${index}].id`,
          `contained[${earlier}] has the id ${quoted(id)} too; give each contained resource an id of its own`,
        )
      } else places.set(id, index)
      if (targets.has(`#${contained.id}`) || upwards.has(index)) return
      list = faults.add(
        list,
        'invariant',
        `.contained[${index}]`,
        `dom-3: nothing refers to this contained resource${contained.id === undefined ? ', which has no id' : ` as #${contained.id}`}`,
      )
    })
    return list
  }

  /** A resource that stands for itself: the root, an entry of a Bundle, a parameter. */
  const anyResource: GeneratedCheck = (value) => {
    const { resource, root } = context
    const outer = { ids, within, isContained }
    const from = locals.length
    context.resource = value
    context.root = value
    ids = null
    within = -1
    isContained = false
    let found = check(value)
    if (isObject(value) && value.contained !== undefined) found = containment(found, value, from)
    if (locals.length !== from) locals.length = from
    context.resource = resource
    context.root = root
    ids = outer.ids
    within = outer.within
    isContained = outer.isContained
    return found
  }

  const containedResource = (value: any, index: number): StructureFaults => {
    if (isContained)
      return faults.add(null, 'invariant', '', 'dom-2: a contained resource contains no resources itself')
    isContained = true
    within = index
    context.resource = value
    let found = check(value)
    context.resource = context.root
    isContained = false
    within = -1
    const meta: unknown = isObject(value) ? value.meta : undefined
    if (isObject(meta)) {
      if (meta.versionId !== undefined || meta.lastUpdated !== undefined) {
        found = faults.add(
          found,
          'invariant',
          '.meta',
          'dom-4: a contained resource has no meta.versionId and no meta.lastUpdated',
        )
      }
      if (meta.security !== undefined) {
        found = faults.add(found, 'invariant', '.meta', 'dom-5: a contained resource has no meta.security')
      }
    }
    return found
  }

  /** Reference.reference is a string to R4: a urn that is no UUID or OID refers to nothing, but may stand there. */
  const oddUrn = (found: StructureFaults, path: string, target: string): StructureFaults =>
    faults.add(
      found,
      'value',
      path,
      `${quoted(target)} refers to nothing: after urn:uuid: there is no UUID, or after urn:oid: no OID`,
      'warning',
    )

  /** ref-1: a local reference names a contained resource, or `#` the container. */
  const localReference = (found: StructureFaults, path: string, target: string): StructureFaults => {
    context.local(target, true)
    if (target === '#') return found
    if (ids === null) {
      ids = new Set()
      const { contained } = context.root as Record<string, unknown>
      if (Array.isArray(contained)) for (const one of contained) ids.add(one?.id)
    }
    return ids.has(target.slice(1))
      ? found
      : faults.add(
          found,
          'invariant',
          path,
          `ref-1: there is no contained resource with the id of this local reference`,
        )
  }

  /** Whether `siblings[index]` stands in for a primitive that is null. */
  const isFilled = (siblings: unknown, index: number): boolean => Array.isArray(siblings) && isObject(siblings[index])

  /** `_name` of a repeating primitive: one Element or null for each value, in an array of the same length. */
  const siblings = (
    found: StructureFaults,
    path: string,
    list: unknown,
    values: unknown,
    element: GeneratedCheck,
  ): StructureFaults => {
    if (!Array.isArray(list) || list.length === 0) return faults.notList(found, path, list)
    let all = found
    if (Array.isArray(values) && values.length !== list.length) {
      all = faults.add(
        all,
        'structure',
        path,
        `its values and their extensions must be arrays of the same length, filled up with null; they have ${values.length} and ${list.length} items`,
      )
    }
    for (let index = 0; index < list.length; index++) {
      const one = list[index]
      const value: unknown = Array.isArray(values) ? values[index] : undefined
      const lacks = value === null || value === undefined
      if (one === null) {
        if (!lacks || Array.isArray(values)) continue // the loop over the values tells of a hole there
        all = faults.add(all, 'structure', `${path}[${index}]`, 'null stands neither for a value nor for an extension')
        continue
      }
      const inner = element(one)
      if (inner !== null) all = faults.nestAt(all, inner, path, index)
      else if (lacks && one.extension === undefined) all = idOnly(all, `${path}[${index}]`)
    }
    return all
  }

  const idOnly = (found: StructureFaults, path: string): StructureFaults =>
    faults.add(found, 'invariant', path, 'ele-1: an element has a value or children besides its id')

  const valueXorExtension = (found: StructureFaults, extension: Record<string, unknown>): StructureFaults =>
    faults.add(
      found,
      'invariant',
      '',
      `ext-1: an extension has either a value or extensions, this one has ${extension.extension === undefined ? 'neither' : 'both'}`,
    )

  const narrative = (found: StructureFaults, path: string, div: string): StructureFaults => {
    const fault = checkNarrative(div)
    if (fault !== null) return faults.add(found, 'invariant', path, fault)
    const { unlisted } = checkNarrative
    return unlisted === undefined ? found : faults.add(found, 'invariant', path, unlisted, 'warning')
  }

  return {
    context,
    anyResource,
    functions: {
      c: context,
      anyResource,
      containedResource,
      localReference,
      oddUrn,
      isFilled,
      siblings,
      idOnly,
      valueXorExtension,
      narrative,
    },
    reset() {
      context.keys = 0
      context.integers = 0
      context.work.left = MAX_COST
      context.resource = undefined
      context.root = undefined
      ids = null
      locals = []
      extensions = undefined
      within = -1
      isContained = false
    },
  }
}
