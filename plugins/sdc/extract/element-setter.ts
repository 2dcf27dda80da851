/** Puts values into the elements that definitions name, such as `…/Patient#Patient.name.given`. */
import type { IssueList } from '../expressions/issue-list.ts'
import type { Json } from '../questionnaire/json.ts'
import { coerce } from './coerce.ts'
import type { ElementShapes, Step } from './element-shapes.ts'

type Target = Record<string, unknown>

/** A resource that is being made. */
export interface Builder {
  /** The canonical in front of the `#` of definitions. */
  readonly definition: string
  readonly type: string
  readonly resource: Target
  /** The extension that asked for it. */
  readonly extension: Json
}

/** Entries of repeating elements that an item instance has begun, by builder and path; items below it continue them. */
interface Scope {
  readonly outer: Scope | undefined
  readonly entries: Map<string, Target>
}

/** The state of definition-based extraction at an item instance. */
export interface DefinitionState {
  /** Innermost first. */
  readonly builders: readonly Builder[]
  readonly scope: Scope
}

export const NO_BUILDERS: DefinitionState = { builders: [], scope: { outer: undefined, entries: new Map() } }

const entryIn = (scope: Scope | undefined, key: string): Target | undefined =>
  scope === undefined ? undefined : (scope.entries.get(key) ?? entryIn(scope.outer, key))

const listIn = (target: Target, key: string): unknown[] => {
  const list = (target[key] as unknown[] | undefined) ?? []
  target[key] = list
  return list
}

/** The object that a step leads to; makes it where there is none. */
const enterStep = (target: Target, { key, isList }: Step, path: string, scope: Scope): Target => {
  if (!isList) {
    const inner = (target[key] as Target | undefined) ?? {}
    target[key] = inner
    return inner
  }
  const known = entryIn(scope, path)
  if (known !== undefined) return known
  const made: Target = {}
  listIn(target, key).push(made)
  scope.entries.set(path, made)
  return made
}

export interface ElementSetter {
  /** Puts a value of a FHIR type into the element. Does nothing where no builder is for the definition. */
  set(
    state: DefinitionState,
    definition: string,
    value: unknown,
    valueType: string,
    linkId: string | undefined,
  ): Promise<void>
  /** A group that is itself mapped to an element begins an entry of it. */
  beginEntry(state: DefinitionState, definition: string): Promise<void>
}

export const createElementSetter = (shapes: ElementShapes, issues: IssueList): ElementSetter => {
  const locate = (state: DefinitionState, definition: string) => {
    const hash = definition.lastIndexOf('#')
    const builder = state.builders.find((one) => hash > 0 && one.definition === definition.slice(0, hash))
    const path = definition.slice(hash + 1)
    return builder !== undefined && path.startsWith(`${builder.type}.`)
      ? { builder, path: path.slice(builder.type.length + 1) }
      : undefined
  }
  const set: ElementSetter['set'] = async (state, definition, value, valueType, linkId) => {
    const found = locate(state, definition)
    if (found === undefined) return
    const steps = await shapes.steps(found.builder.type, found.path, valueType)
    const last = steps?.at(-1)
    const fitting = last === undefined ? undefined : coerce(value, last.type)
    if (steps === undefined || last === undefined || fitting === undefined) {
      issues.add(
        'warning',
        'value',
        `A value of type ${valueType} cannot be put into ${definition.slice(0, 200)}.`,
        linkId,
      )
      return
    }
    let target = found.builder.resource
    let path = found.builder.definition
    for (const step of steps.slice(0, -1)) {
      path += `.${step.key}`
      target = enterStep(target, step, path, state.scope)
    }
    if (last.isList) listIn(target, last.key).push(fitting)
    else target[last.key] = fitting
  }

  const beginEntry: ElementSetter['beginEntry'] = async (state, definition) => {
    const found = locate(state, definition)
    const steps =
      found === undefined ? undefined : await shapes.steps(found.builder.type, found.path, 'BackboneElement')
    if (found === undefined || steps === undefined) return
    let target = found.builder.resource
    let path = found.builder.definition
    for (const [at, step] of steps.entries()) {
      path += `.${step.key}`
      if (at === steps.length - 1 && step.isList) {
        const made: Target = {}
        listIn(target, step.key).push(made)
        state.scope.entries.set(path, made)
      } else target = enterStep(target, step, path, state.scope)
    }
  }
  return { set, beginEntry }
}
