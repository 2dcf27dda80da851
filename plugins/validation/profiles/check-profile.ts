/**
 * Checks an element and all elements below it against the tree of a profile: cardinality, slices, types, and value rules.
 * https://hl7.org/fhir/R4/profiling.html
 */
import { type Issue, withArticle } from '../../../kernel/index.ts'
import {
  createInvariants,
  type EvaluationBudget,
  type Field,
  type Interpreter,
  Pending,
  type StructureDefinition,
  type TypeFieldsOf,
  typeUrl,
} from '../../model/service.ts'
import type { BoundCodes } from '../rules/system-codes.ts'
import type { FindDefinition } from '../rules/value-set.ts'
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
import { REFERENCE_TYPE } from './reference-type.ts'
import { createSlicing } from './slicing.ts'
import { type ProfileNode, type ProfileTree, treeOf } from './tree.ts'
import { createValueRules, type Severity } from './value-rules.ts'

export interface ProfileSources {
  readonly find: FindDefinition
  readonly shape: TypeFieldsOf
  codes(canonical: string): BoundCodes | null | undefined
  engine(): Interpreter | null
}

type Code = Issue['code']

/** The state of checking one resource against one profile. `depth` counts the profiles that led to this one. */
export interface ProfileCheck {
  readonly profile: string
  readonly resource: unknown
  readonly root: Readonly<Record<string, unknown>>
  readonly depth: number
  emit(severity: Severity, code: Code, path: LocationPath, text: string, profile: string): void
}

/** Maximum nesting of profiles; ends the recursion when a profile leads to itself on the same element. */
const MAX_DEPTH = 100
const CORE_TYPE = /^http:\/\/hl7\.org\/fhir\/StructureDefinition\/([A-Z][A-Za-z]*)$/
/** Profiles on data types in R4's own definitions. They are skipped here, because the structure check applies them. */
const STRUCTURAL = /\/StructureDefinition\/(?:SimpleQuantity|MoneyQuantity)$/

const bare = (canonical: string): string => canonical.replace(/\|.*$/, '')
const tail = (code: string): string => code.slice(code.lastIndexOf('/') + 1)

const times = (count: number): string => (count === 1 ? 'once' : `${count} times`)

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
  const trees = new Map<string, ProfileTree>()
  let current: ProfileCheck | undefined

  const shapeOf = (url: string) => {
    const found = shape(url)
    if (found === null) throw new Pending()
    return found
  }

  const definition = (canonical: string): StructureDefinition | undefined => {
    const found = find('StructureDefinition', canonical)
    if (found === null) throw new Pending()
    return found as StructureDefinition | undefined
  }

  /**
   * Undefined: not installed, or a profile that is derived from itself. `above`: the profiles derived from this one. The tree
   * of a type that is not a profile has no rules, because the structure check has applied them.
   */
  const tree = (canonical: string, above: readonly string[] = []): ProfileTree | undefined => {
    const known = trees.get(canonical)
    if (known !== undefined) return known
    const profile = definition(canonical)
    if (profile === undefined || above.includes(profile.url)) return undefined
    const nothing = { ...profile, snapshot: undefined, differential: undefined, baseDefinition: undefined }
    const made =
      profile.derivation === 'constraint'
        ? treeOf(profile, (url) => tree(url, [...above, profile.url]))!
        : { ...treeOf(nothing as unknown as StructureDefinition, () => undefined)!, gaps: [] }
    trees.set(canonical, made)
    return made
  }

  const typeOfProfile = (canonical: string): string | undefined =>
    CORE_TYPE.exec(bare(canonical))?.[1] ?? tree(canonical)?.type

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

  const sliceOf = createSlicing({ shapeOf, codes, tree, typeOfProfile, conforms, contained })
  const checkValue = createValueRules({
    invariants: createInvariants({ typeFieldsOf: shape, interpreter: engine, work }),
    codes,
    pending: () => {
      throw new Pending()
    },
  })

  const tell = (severity: Severity, code: Code, path: LocationPath, text: string): void => {
    const { emit: pass, profile } = current!
    pass(severity, code, path, text, profile)
  }

  const cardinality = (node: ProfileNode, count: number, path: LocationPath): void => {
    const what = node.slice === undefined ? `the element ${node.name}` : `the slice ${node.slice}`
    if (node.min !== undefined && count < node.min) {
      tell('error', 'required', path, `${what} is required at least ${times(node.min)}, and is there ${times(count)}`)
    }
    if (node.max !== undefined && count > node.max) {
      const most = node.max === 0 ? `${what} is not allowed` : `${what} is allowed at most ${times(node.max)}`
      tell('error', 'structure', path, `${most}, and is there ${times(count)}`)
    }
  }

  const references = (node: ProfileNode, { value, path }: ElementLocation): void => {
    const targets = node.types
      ?.filter(({ code }) => code === 'Reference')
      .flatMap(({ targetProfile }) => targetProfile ?? [])
    const { reference, type } = (value ?? {}) as { reference?: unknown; type?: unknown }
    if (targets === undefined || targets.length === 0) return
    const named = typeof reference === 'string' ? REFERENCE_TYPE.exec(reference)?.[1] : undefined
    const name = named ?? (typeof type === 'string' ? tail(type) : undefined)
    // The target is checked only if the reference names a resource type; `urn:…` and URLs of other systems do not.
    if (name === undefined || shapeOf(typeUrl(name))?.kind !== 'resource') return
    const allowed = targets.map((target) => typeOfProfile(target))
    if (allowed.includes(undefined) || allowed.includes('Resource') || allowed.includes(name)) return
    tell(
      'error',
      'structure',
      path,
      `it refers to ${withArticle(name)}; allowed are ${[...new Set(allowed)].join(', ')}`,
    )
  }

  const types = (node: ProfileNode, location: ElementLocation): void => {
    const { types: wanted } = node
    const { type, path } = location
    if (wanted === undefined || type.kind === 'block') return
    const name = typeNameOf(location)
    const isAny = (code: string) => type.kind === 'resource' && (code === 'Resource' || code === 'DomainResource')
    const isSystem = wanted.some(({ code }) => code.startsWith('http://hl7.org/fhirpath/'))
    const matching = wanted.filter(({ code }) => tail(code) === name || isAny(tail(code)))
    if (matching.length === 0) {
      // Accepted: a snapshot gives ids and Extension.url the type System.String, for which fields.ts uses names of our own.
      if (type.kind === 'primitive' && (isSystem || name.includes('-') || name === 'reference')) return
      const allowed = wanted.map(({ code }) => tail(code)).join(', ')
      tell('error', 'structure', path, `its type ${name} is not allowed; allowed are ${allowed}`)
      return
    }
    if (name === 'Reference') references(node, location)
    if (matching.some(({ profile }) => profile === undefined)) return
    const profiles = matching.flatMap(({ profile }) => profile ?? []).filter((one) => !STRUCTURAL.test(one))
    const [only] = profiles
    if (only === undefined) return
    if (profiles.length > 1) {
      if (!profiles.some((one) => conforms(location, one))) {
        tell('error', 'structure', path, `it conforms to none of ${profiles.join(', ')}`)
      }
      return
    }
    const target = tree(only)
    if (target === undefined) {
      tell('warning', 'not-found', path, `the profile ${only} is not installed, so this is not checked against it`)
    } else if (current!.depth < MAX_DEPTH) {
      visit(target, location, { ...current!, profile: only, depth: current!.depth + 1 })
    }
  }

  const slices = (
    sliced: ProfileNode,
    among: readonly ProfileNode[],
    spots: readonly ElementLocation[],
    at: LocationPath,
    field: Field,
  ): void => {
    const groups = new Map<ProfileNode, ElementLocation[]>(among.map((slice) => [slice, []]))
    const rules = sliced.slicing?.rules
    let latest = -1
    let isUnsure = false
    let openEnd: ElementLocation | undefined
    for (const location of spots) {
      const slice = sliceOf(sliced, among, location, field.choice)
      if (slice === undefined) isUnsure = true
      else if (slice === null) {
        if (rules === 'closed')
          tell(
            'error',
            'structure',
            location.path,
            `it is none of the slices ${among.map((one) => one.slice).join(', ')}, and no others are allowed`,
          )
        openEnd ??= location
      } else {
        groups.get(slice)!.push(location)
        const order = among.indexOf(slice)
        if (sliced.slicing?.ordered === true && order < latest) {
          tell('error', 'structure', location.path, `the slice ${slice.slice} stands before ${among[latest]!.slice}`)
        }
        latest = Math.max(latest, order)
        if (rules === 'openAtEnd' && openEnd !== undefined) {
          tell('error', 'structure', location.path, `the slice ${slice.slice} stands before what belongs to no slice`)
        }
      }
    }
    if (isUnsure)
      tell('warning', 'incomplete', at, `it cannot be told which slice of ${sliced.name} every element belongs to`)
    for (const [slice, own] of groups) {
      if (!isUnsure) cardinality(slice, own.length, at)
      for (const location of own) element(slice, location, field)
      if (slice.slices.length > 0) slices(slice, slice.slices, own, at, field)
    }
  }

  const element = (node: ProfileNode, location: ElementLocation, field: Field | undefined): void => {
    const visiting = current!
    const inside = contentOf(location, shapeOf)
    const inherited = [...(field?.rules.constraints ?? []), ...(inside?.block.rules.constraints ?? [])]
    types(node, location)
    checkValue(
      node,
      location,
      inside,
      { keys: new Set(inherited.map(({ key }) => key)), required: field?.rules.required },
      visiting,
      (severity, code, text) => tell(severity, code, location.path, text),
    )
    if (inside !== undefined) children(node, inside, location.path)
  }

  const children = (node: ProfileNode, inside: ElementContent, up: LocationPath): void => {
    for (const child of node.children) {
      const of = fieldOf(inside, child.name)
      if (of === undefined) continue
      const { field, only } = of
      const spots = locationsOf(inside, field, up, only)
      const path: LocationPath = { up, name: field.name, index: -1 }
      cardinality(child, spots.length, path)
      for (const location of spots) element(child, location, field)
      if (child.slices.length > 0) slices(child, child.slices, spots, path, field)
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

  return { tree: (canonical) => tree(canonical), visit, shapeOf }
}
