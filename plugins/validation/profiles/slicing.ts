/**
 * Decides which slice an element belongs to. A discriminator is a path: the values that it selects in the element are compared
 * with what the slice requires at the same path.
 * https://hl7.org/fhir/R4/profiling.html#discriminator
 */

import type { Discriminator, Slicing } from '../../model/service.ts'
import { bindingTest } from '../rules/bindings.ts'
import type { BoundCodes } from '../rules/system-codes.ts'
import { contentOf, type ElementLocation, type FieldsOf, fieldOf, locationsOf, typeNameOf } from './element-location.ts'
import { fitsPattern, isFixed } from './pattern.ts'
import type { ProfileNode, ProfileTree } from './tree.ts'

export interface SlicingTools {
  readonly shapeOf: FieldsOf
  codes(canonical: string): BoundCodes | null | undefined
  /** The tree of a profile; undefined if it is not installed. */
  tree(canonical: string): ProfileTree | undefined
  /** Name of the type that the definition with this URL constrains or defines. */
  typeOfProfile(canonical: string): string | undefined
  /** Whether the element conforms to the profile. */
  conforms(location: ElementLocation, canonical: string): boolean
  /** The contained resource that a local reference such as `#a` names. */
  contained(reference: string): unknown
}

/** Whether an element matches one discriminator of a slice; undefined if the slice requires nothing that decides it. */
type Matcher = (location: ElementLocation) => boolean | undefined

type SlicingStep =
  | { readonly kind: 'child'; readonly name: string }
  | { readonly kind: 'extension'; readonly url: string }
  | { readonly kind: 'type'; readonly name: string }
  | { readonly kind: 'resolve' }

const STEP =
  /^(?:\$this|resolve\(\)|ofType\(([^)]+)\)|extension\(\s*(['"])(.*?)\2\s*\)|([A-Za-z][A-Za-z0-9]*)(?:\[x\])?)(?:\.|$)/

/** Parses the restricted FHIRPath of a discriminator; undefined if the path is outside of it. */
const stepsOf = (path: string): readonly SlicingStep[] | undefined => {
  const steps: SlicingStep[] = []
  let rest = path
  while (rest !== '') {
    const match = STEP.exec(rest)
    if (match === null) return undefined
    const [whole, type, , url, name] = match
    if (type !== undefined) steps.push({ kind: 'type', name: type })
    else if (url !== undefined) steps.push({ kind: 'extension', url })
    else if (name !== undefined) steps.push({ kind: 'child', name })
    else if (whole.startsWith('resolve')) steps.push({ kind: 'resolve' })
    rest = rest.slice(whole.length)
  }
  return steps
}

/** A requirement of a slice at a path: a node of its tree, or the part of a fixed or pattern value above that has this path. */
type Said = { readonly node: ProfileNode } | { readonly pattern: unknown; readonly exact: boolean }

const bare = (canonical: string): string => canonical.replace(/\|.*$/, '')

export const REFERENCE_TYPE = /(?:^|\/)([A-Z][A-Za-z]+)\/[A-Za-z0-9\-.]{1,64}(?:\/_history\/[A-Za-z0-9\-.]{1,64})?$/

export const createSlicing = (tools: SlicingTools) => {
  /** The children with this name of a node itself, and of the profiles on its types. */
  const children = (node: ProfileNode, name: string): ProfileNode[] => {
    const own = node.children.filter((child) => child.name === name)
    const profiles = node.types?.flatMap(({ profile }) => profile ?? []) ?? []
    const theirs = profiles.flatMap(
      (one) => tools.tree(one)?.root.children.filter((child) => child.name === name) ?? [],
    )
    // A slice with a minimum above 0 must be present, so some item of the element meets its requirements: they count too.
    return [...own, ...theirs].flatMap((child) => [child, ...child.slices.filter(({ min }) => (min ?? 0) > 0)])
  }

  const extensionUrl = (slice: ProfileNode): string | undefined => {
    const profile = slice.types?.[0]?.profile?.[0]
    if (profile !== undefined) return bare(profile)
    const fixed = slice.children.find(({ name }) => name === 'url')
    return (fixed?.fixed ?? fixed?.pattern) as string | undefined
  }

  const below = (said: readonly Said[], step: SlicingStep): Said[] =>
    said.flatMap((one): Said[] => {
      if ('pattern' in one) {
        if (step.kind !== 'child' || typeof one.pattern !== 'object' || one.pattern === null) return []
        const inner = (one.pattern as Record<string, unknown>)[step.name]
        const all = inner === undefined ? [] : Array.isArray(inner) ? inner : [inner]
        return all.map((pattern) => ({ pattern, exact: one.exact }))
      }
      const { node } = one
      switch (step.kind) {
        case 'resolve':
        case 'type':
          return [one]
        case 'extension':
          return children(node, 'extension').flatMap(({ slices }) =>
            slices.filter((slice) => extensionUrl(slice) === step.url).map((slice) => ({ node: slice })),
          )
        case 'child': {
          const nodes: Said[] = children(node, step.name).map((child) => ({ node: child }))
          for (const [value, exact] of [
            [node.fixed, true],
            [node.pattern, false],
          ] as const) {
            if (value !== undefined) nodes.push(...below([{ pattern: value, exact }], step))
          }
          // The URL of an extension is that of its profile.
          const url = step.name === 'url' ? extensionUrl(node) : undefined
          if (url !== undefined) nodes.push({ pattern: url, exact: true })
          return nodes
        }
        default:
          return []
      }
    })

  const resolved = (location: ElementLocation): ElementLocation[] => {
    const reference = (location.value as { reference?: unknown } | undefined)?.reference
    const value = typeof reference === 'string' && reference.startsWith('#') ? tools.contained(reference) : undefined
    return value === undefined ? [] : [{ ...location, value, type: { kind: 'resource', suffix: '' } }]
  }

  const found = (spots: readonly ElementLocation[], step: SlicingStep): ElementLocation[] =>
    spots.flatMap((location): ElementLocation[] => {
      switch (step.kind) {
        case 'type':
          return typeNameOf(location) === step.name ? [location] : []
        case 'resolve':
          return resolved(location)
        default: {
          const inside = contentOf(location, tools.shapeOf)
          const name = step.kind === 'extension' ? 'extension' : step.name
          const of = inside === undefined ? undefined : fieldOf(inside, name)
          if (inside === undefined || of === undefined) return []
          const all = locationsOf(inside, of.field, location.path, of.only)
          return step.kind === 'child'
            ? all
            : all.filter(({ value }) => (value as { url?: unknown } | undefined)?.url === step.url)
        }
      }
    })

  /** Discriminators of type value and pattern. R4 distinguishes them, but profiles use either for the other. */
  const byValue = (steps: readonly SlicingStep[], slice: ProfileNode): Matcher => {
    const said = steps.reduce<Said[]>(below, [{ node: slice }])
    const tests: ((location: ElementLocation) => boolean | undefined)[] = []
    for (const one of said) {
      if ('pattern' in one) {
        const fits = one.exact ? isFixed : fitsPattern
        tests.push(({ value }) => fits(value, one.pattern))
        continue
      }
      const { fixed, pattern, binding } = one.node
      if (fixed !== undefined) tests.push(({ value }) => isFixed(value, fixed))
      else if (pattern !== undefined) tests.push(({ value }) => fitsPattern(value, pattern))
      else if (binding?.strength === 'required' && binding.valueSet !== undefined) {
        const { valueSet } = binding
        tests.push((location) => {
          const known = tools.codes(valueSet)
          const test = bindingTest(typeNameOf(location))
          return known === null || known === undefined || test === undefined ? undefined : test(known, location.value)
        })
      }
    }
    return (location) => {
      if (tests.length === 0) return undefined
      const spots = steps.reduce<ElementLocation[]>(found, [location])
      let isUnsure = false
      for (const test of tests) {
        const answers = spots.map(test)
        if (answers.includes(true)) continue
        if (!answers.includes(undefined)) return false
        isUnsure = true
      }
      return isUnsure ? undefined : true
    }
  }

  const byExistence = (steps: readonly SlicingStep[], slice: ProfileNode): Matcher => {
    const nodes = steps.reduce<Said[]>(below, [{ node: slice }]).flatMap((one) => ('node' in one ? [one.node] : []))
    const isAbsent = nodes.some(({ max }) => max === 0)
    const isPresent = nodes.some(({ min }) => (min ?? 0) > 0)
    return (location) =>
      isAbsent === isPresent ? undefined : steps.reduce<ElementLocation[]>(found, [location]).length > 0 === isPresent
  }

  const byType = (steps: readonly SlicingStep[], slice: ProfileNode): Matcher => {
    const nodes = steps.reduce<Said[]>(below, [{ node: slice }]).flatMap((one) => ('node' in one ? [one.node] : []))
    const types = nodes.flatMap((node) => node.types ?? [])
    if (types.length === 0) return () => undefined
    if (steps.at(-1)?.kind !== 'resolve') {
      const codes = types.map(({ code }) => code.slice(code.lastIndexOf('/') + 1))
      return (location) =>
        steps.reduce<ElementLocation[]>(found, [location]).some((one) => codes.includes(typeNameOf(one)))
    }
    const targets = types.flatMap(({ targetProfile }) => targetProfile ?? []).map((one) => tools.typeOfProfile(one))
    return (location) =>
      steps
        .slice(0, -1)
        .reduce<ElementLocation[]>(found, [location])
        .some((one) => {
          const { reference, type } = (one.value ?? {}) as { reference?: string; type?: string }
          const name = type ?? REFERENCE_TYPE.exec(reference ?? '')?.[1] ?? resolved(one).map(typeNameOf)[0]
          return name !== undefined && targets.includes(name)
        })
  }

  const byProfile = (steps: readonly SlicingStep[], slice: ProfileNode): Matcher => {
    const nodes = steps.reduce<Said[]>(below, [{ node: slice }]).flatMap((one) => ('node' in one ? [one.node] : []))
    const isReference = steps.at(-1)?.kind === 'resolve'
    const profiles = nodes.flatMap(({ types }) =>
      (types ?? []).flatMap(({ profile, targetProfile }) => (isReference ? targetProfile : profile) ?? []),
    )
    return (location) => {
      if (profiles.length === 0) return undefined
      const spots = steps.reduce<ElementLocation[]>(found, [location])
      return spots.some((one) => profiles.some((profile) => tools.conforms(one, profile)))
    }
  }

  const MATCHERS = { value: byValue, pattern: byValue, exists: byExistence, type: byType, profile: byProfile }

  const matcher = ({ type, path }: Discriminator, slice: ProfileNode): Matcher => {
    const steps = stepsOf(path)
    const make = MATCHERS[type]
    return steps === undefined || make === undefined ? () => undefined : make(steps, slice)
  }

  /** The discriminators of an element. If the definition gives none, extensions are sliced by URL and choices by type. */
  const discriminators = ({ name, slicing }: { name: string; slicing: Slicing | undefined }, isChoice: boolean) => {
    if (slicing?.discriminator !== undefined && slicing.discriminator.length > 0) return slicing.discriminator
    if (name === 'extension' || name === 'modifierExtension') return [{ type: 'value', path: 'url' } as const]
    return isChoice ? [{ type: 'type', path: '$this' } as const] : []
  }

  const made = new Map<ProfileNode, readonly Matcher[]>()

  /**
   * Returns the slice in `among` that the element belongs to, null if it belongs to none, or undefined if that cannot be
   * decided. `sliced` is the node with the discriminators.
   */
  return (
    sliced: ProfileNode,
    among: readonly ProfileNode[],
    location: ElementLocation,
    isChoice: boolean,
  ): ProfileNode | null | undefined => {
    let isUnsure = false
    for (const slice of among) {
      let matchers = made.get(slice)
      if (matchers === undefined) {
        matchers = discriminators(sliced, isChoice).map((discriminator) => matcher(discriminator, slice))
        made.set(slice, matchers)
      }
      if (matchers.length === 0) return undefined
      let all: boolean | undefined = true
      for (const matches of matchers) {
        const answer = matches(location)
        if (answer === false) {
          all = false
          break
        }
        if (answer === undefined) all = undefined
      }
      if (all === true) return slice
      if (all === undefined) isUnsure = true
    }
    return isUnsure ? undefined : null
  }
}
