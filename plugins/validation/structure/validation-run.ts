/**
 * The state of the current validation, and the functions that the generated checks call besides those for faults: here those
 * for nested resources, contained resources (dom-2 to dom-5) and local references (ref-1), which read or change that state.
 */
import { type EvaluationBudget, MAX_COST } from '../../model/service.ts'
import { checkContainment, type LocalReference } from './check-containment.ts'
import { createElementChecks } from './element-checks.ts'
import type { GeneratedCheck } from './generated-check.ts'
import { isObject } from './is-object.ts'
import type { StructureFaultFactory, StructureFaults } from './structure-issues.ts'

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

/** Makes the check of a resource by its own type. */
const createTypedCheck =
  (faults: StructureFaultFactory, resource: (type: string) => GeneratedCheck | undefined): GeneratedCheck =>
  (value: any): StructureFaults => {
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

/** dom-4 and dom-5: what the `meta` of a contained resource lacks. */
const checkContainedMeta = (faults: StructureFaultFactory, found: StructureFaults, meta: unknown): StructureFaults => {
  if (!isObject(meta)) return found
  let all = found
  if (meta.versionId !== undefined || meta.lastUpdated !== undefined)
    all = faults.add(
      all,
      'invariant',
      '.meta',
      'dom-4: a contained resource has no meta.versionId and no meta.lastUpdated',
    )
  if (meta.security !== undefined)
    all = faults.add(all, 'invariant', '.meta', 'dom-5: a contained resource has no meta.security')
  return all
}

/** `resource(type)` returns the check of a resource type; undefined if the type is not known or not loaded yet. */
export const createValidationRun = (
  faults: StructureFaultFactory,
  resource: (type: string) => GeneratedCheck | undefined,
): ValidationRun => {
  const check = createTypedCheck(faults, resource)
  let ids: Set<unknown> | null = null
  let locals: LocalReference[] = []
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
    if (isObject(value) && value.contained !== undefined) found = checkContainment(faults, found, value, locals, from)
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
    const found = check(value)
    context.resource = context.root
    isContained = false
    within = -1
    return isObject(value) ? checkContainedMeta(faults, found, value.meta) : found
  }

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

  return {
    context,
    anyResource,
    functions: { c: context, anyResource, containedResource, localReference, ...createElementChecks(faults) },
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
