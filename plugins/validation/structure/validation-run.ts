/**
 * The functions that the generated checks call besides those for faults: for nested resources, contained resources (dom-2 to
 * dom-5, ref-1), the siblings `_name` of primitives, and the narrative. Has the state of the current validation.
 */
import { type EvaluationBudget, MAX_COST } from '../../model/service.ts'
import { quoted, type StructureFaultFactory, type StructureFaults } from './structure-issues.ts'
import { createNarrativeCheck } from './xhtml.ts'

/** A generated check. Returns the faults of an object, or null if it is valid. */
export type GeneratedCheck = (value: any) => StructureFaults

interface Local {
  /** `#id` or `#` */
  readonly target: string
  /** True for a Reference or canonical; only in these `#` means the container. */
  readonly strong: boolean
  /** Index of the contained resource that has the reference; -1 if the container itself has it. */
  readonly within: number
}

export interface RunContext {
  /** Number of members of all objects so far. */
  keys: number
  /** Number of values of the types integer, positiveInt and unsignedInt so far. */
  integers: number
  /** The budget for evaluating the invariants of the resource. */
  readonly work: EvaluationBudget
  /** %resource: the resource that is being checked, which may be a contained one. */
  resource: unknown
  /** %rootResource: the container of `resource`, or `resource` itself if it is not contained. */
  root: unknown
  /** Records a local reference. */
  local(target: string, strong: boolean): void
  /** Records the URL of an extension. */
  extension(url: string): void
  /** The URLs of all extensions so far. */
  readonly extensions: ReadonlySet<string>
}

export interface ValidationRun {
  readonly context: RunContext
  readonly functions: Readonly<Record<string, unknown>>
  /** Checks a resource of any type, by its resourceType. */
  readonly anyResource: GeneratedCheck
  reset(): void
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** `resource(type)` returns the check of a resource type; undefined if the type is not known or not loaded yet. */
export const createValidationRun = (
  faults: StructureFaultFactory,
  resource: (type: string) => GeneratedCheck | undefined,
): ValidationRun => {
  const checkNarrative = createNarrativeCheck()
  let ids: Set<unknown> | null = null
  let locals: Local[] = []
  let within = -1
  let isContained = false
  /** The empty set, for resources without extensions. */
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
   * Checks that contained resources have different ids (https://hl7.org/fhir/R4/references.html#contained), and dom-3: each one
   * is referred to, or refers to its container. `from`: index of the first local reference of this resource in `locals`.
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

  /** Checks a resource that is not contained: the whole body, or a resource in a Bundle or in Parameters. */
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

  /** Warns of a urn:uuid: or urn:oid: that is invalid. It is not an error, because R4 types Reference.reference as a string. */
  const oddUrn = (found: StructureFaults, path: string, target: string): StructureFaults =>
    faults.add(
      found,
      'value',
      path,
      `${quoted(target)} refers to nothing: after urn:uuid: there is no UUID, or after urn:oid: no OID`,
      'warning',
    )

  /** ref-1: a local reference must name a contained resource, or the container as `#`. */
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

  /** Whether a null in an array of primitives is allowed, because `siblings[index]` is an object with its extensions. */
  const isFilled = (siblings: unknown, index: number): boolean => Array.isArray(siblings) && isObject(siblings[index])

  /** Checks `_name` of a repeating primitive: an array as long as that of the values, with an Element or null for each. */
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
        if (!lacks || Array.isArray(values)) continue // the check of the values reports a null in both arrays
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
