/**
 * Checks an element and all elements below it against the tree of a profile: cardinality, slices, types, and value rules.
 * https://hl7.org/fhir/R4/profiling.html
 */
import type { Issue } from '../../../kernel/index.ts'
import {
  createInvariants,
  type EvaluationBudget,
  type Field,
  type Interpreter,
  Pending,
  type TypeFieldsOf,
} from '../../model/service.ts'
import type { BoundCodes } from '../rules/system-codes.ts'
import type { FindDefinition } from '../rules/value-set.ts'
import { checkCardinality } from './check-cardinality.ts'
import {
  contentOf,
  type ElementContent,
  type ElementLocation,
  type FieldsOf,
  fieldOf,
  type LocationPath,
  locationsOf,
  typeNameOf,
} from './element-location.ts'
import { createProfileTrees } from './profile-trees.ts'
import type { Report } from './report.ts'
import { createSlicesCheck } from './slices-check.ts'
import { createSlicing } from './slicing.ts'
import type { ProfileNode, ProfileTree } from './tree.ts'
import { createTypeCheck } from './type-check.ts'
import { createValueRules, type Severity } from './value-rules.ts'

export interface ProfileSources {
  readonly find: FindDefinition
  readonly shape: TypeFieldsOf
  codes(canonical: string): BoundCodes | null | undefined
  engine(): Interpreter | null
}

/** The state of checking one resource against one profile. `depth` counts the profiles that led to this one. */
export interface ProfileCheck {
  readonly profile: string
  readonly resource: unknown
  readonly root: Readonly<Record<string, unknown>>
  readonly depth: number
  emit(severity: Severity, code: Issue['code'], path: LocationPath, text: string, profile: string): void
}

/** Maximum nesting of profiles; ends the recursion when a profile leads to itself on the same element. */
const MAX_DEPTH = 100

export interface ProfileChecker {
  /** The tree of a profile; undefined if it is not installed. Throws Pending. */
  tree(canonical: string): ProfileTree | undefined
  /** Checks an element against a profile. Throws Pending if a definition is not loaded yet. */
  visit(target: ProfileTree, location: ElementLocation, as: ProfileCheck): void
  /** The fields of a type. Throws Pending. */
  readonly shapeOf: FieldsOf
}

export const createProfileChecker = (
  { find, shape, codes, engine }: ProfileSources,
  work: EvaluationBudget,
): ProfileChecker => {
  const trees = createProfileTrees(find)
  const { tree } = trees
  let current: ProfileCheck | undefined

  const shapeOf = (url: string) => {
    const found = shape(url)
    if (found === null) throw new Pending()
    return found
  }

  const contained = (reference: string): unknown => {
    const list = current?.root.contained
    return Array.isArray(list) ? list.find((one) => one?.id === reference.slice(1)) : undefined
  }

  /** Whether an element conforms to a profile. Its errors are not reported. */
  const conforms = (location: ElementLocation, canonical: string): boolean => {
    const outer = current!
    const target = tree(canonical)
    if (target === undefined || outer.depth > MAX_DEPTH || target.type !== typeNameOf(location)) return false
    let isSound = true
    visit(target, location, {
      ...outer,
      profile: canonical,
      depth: outer.depth + 1,
      emit: (severity) => {
        if (severity === 'error') isSound = false
      },
    })
    return isSound
  }

  const sliceOf = createSlicing({ shapeOf, codes, tree, typeOfProfile: trees.typeOfProfile, conforms, contained })
  const checkValue = createValueRules({
    invariants: createInvariants({ typeFieldsOf: shape, interpreter: engine, work }),
    codes,
    pending: () => {
      throw new Pending()
    },
  })

  const report: Report = (severity, code, path, text) => {
    const { emit: pass, profile } = current!
    pass(severity, code, path, text, profile)
  }

  const checkType = createTypeCheck({
    ...{ report, shapeOf, trees, conforms },
    descend(target, canonical, location) {
      const { depth } = current!
      if (depth < MAX_DEPTH) visit(target, location, { ...current!, profile: canonical, depth: depth + 1 })
    },
  })

  const element = (node: ProfileNode, location: ElementLocation, field: Field | undefined): void => {
    const visiting = current!
    const inside = contentOf(location, shapeOf)
    const inherited = [...(field?.rules.constraints ?? []), ...(inside?.block.rules.constraints ?? [])]
    checkType(node, location)
    checkValue(
      node,
      location,
      inside,
      { keys: new Set(inherited.map(({ key }) => key)), required: field?.rules.required },
      visiting,
      (severity, code, text) => report(severity, code, location.path, text),
    )
    if (inside !== undefined) children(node, inside, location.path)
  }

  const checkSlices = createSlicesCheck(report, sliceOf, element)

  const children = (node: ProfileNode, inside: ElementContent, up: LocationPath): void => {
    for (const child of node.children) {
      const of = fieldOf(inside, child.name)
      if (of === undefined) continue
      const { field, only } = of
      const spots = locationsOf(inside, field, up, only)
      const path: LocationPath = { up, name: field.name, index: -1 }
      checkCardinality(report, child, spots.length, path)
      for (const location of spots) element(child, location, field)
      if (child.slices.length > 0) checkSlices(child, child.slices, spots, path, field)
    }
  }

  const visit = (target: ProfileTree, location: ElementLocation, as: ProfileCheck): void => {
    const outer = current
    current = as
    try {
      element(target.root, location, undefined)
    } finally {
      current = outer
    }
  }

  return { tree, visit, shapeOf }
}
