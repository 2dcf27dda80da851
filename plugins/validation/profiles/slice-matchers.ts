/**
 * Compares what the discriminator of a slicing selects in an element with what a slice requires at the same path.
 * https://hl7.org/fhir/R4/profiling.html#discriminator
 */
import type { Discriminator } from '../../model/service.ts'
import { bindingTest } from '../rules/bindings.ts'
import type { BoundCodes } from '../rules/system-codes.ts'
import { createDiscriminatedElements } from './discriminated-elements.ts'
import { type SlicingStep, stepsOf } from './discriminator-path.ts'
import { type ElementLocation, type FieldsOf, typeNameOf } from './element-location.ts'
import { fitsPattern, isFixed } from './pattern.ts'
import { REFERENCE_TYPE } from './reference-type.ts'
import { createSliceRequirements } from './slice-requirements.ts'
import type { ProfileNode, ProfileTree } from './tree.ts'

export interface MatcherTools {
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
export type Matcher = (location: ElementLocation) => boolean | undefined

export const createSliceMatchers = ({ shapeOf, codes, tree, typeOfProfile, conforms, contained }: MatcherTools) => {
  const requirementsOf = createSliceRequirements(tree)
  const { select, resolved } = createDiscriminatedElements(shapeOf, contained)

  /** The nodes of the trees of profiles among the requirements of a slice. */
  const nodesAt = (steps: readonly SlicingStep[], slice: ProfileNode): readonly ProfileNode[] =>
    requirementsOf(steps, slice).flatMap((one) => ('node' in one ? [one.node] : []))

  /** Discriminators of type value and pattern. R4 distinguishes them, but profiles use either for the other. */
  const byValue = (steps: readonly SlicingStep[], slice: ProfileNode): Matcher => {
    const said = requirementsOf(steps, slice)
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
          const known = codes(valueSet)
          const test = bindingTest(typeNameOf(location))
          return known === null || known === undefined || test === undefined ? undefined : test(known, location.value)
        })
      }
    }
    return (location) => {
      if (tests.length === 0) return undefined
      const spots = select(steps, location)
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
    const nodes = nodesAt(steps, slice)
    const isAbsent = nodes.some(({ max }) => max === 0)
    const isPresent = nodes.some(({ min }) => (min ?? 0) > 0)
    return (location) => (isAbsent === isPresent ? undefined : select(steps, location).length > 0 === isPresent)
  }

  const byType = (steps: readonly SlicingStep[], slice: ProfileNode): Matcher => {
    const nodes = nodesAt(steps, slice)
    const types = nodes.flatMap((node) => node.types ?? [])
    if (types.length === 0) return () => undefined
    if (steps.at(-1)?.kind !== 'resolve') {
      const codes = types.map(({ code }) => code.slice(code.lastIndexOf('/') + 1))
      return (location) => select(steps, location).some((one) => codes.includes(typeNameOf(one)))
    }
    const targets = types.flatMap(({ targetProfile }) => targetProfile ?? []).map((one) => typeOfProfile(one))
    return (location) =>
      select(steps.slice(0, -1), location).some((one) => {
        const { reference, type } = (one.value ?? {}) as { reference?: string; type?: string }
        const name = type ?? REFERENCE_TYPE.exec(reference ?? '')?.[1] ?? resolved(one).map(typeNameOf)[0]
        return name !== undefined && targets.includes(name)
      })
  }

  const byProfile = (steps: readonly SlicingStep[], slice: ProfileNode): Matcher => {
    const nodes = nodesAt(steps, slice)
    const isReference = steps.at(-1)?.kind === 'resolve'
    const profiles = nodes.flatMap(({ types }) =>
      (types ?? []).flatMap(({ profile, targetProfile }) => (isReference ? targetProfile : profile) ?? []),
    )
    return (location) => {
      if (profiles.length === 0) return undefined
      const spots = select(steps, location)
      return spots.some((one) => profiles.some((profile) => conforms(one, profile)))
    }
  }

  const MATCHERS = { value: byValue, pattern: byValue, exists: byExistence, type: byType, profile: byProfile }

  /** Makes the test of a discriminator for a slice. */
  return ({ type, path }: Discriminator, slice: ProfileNode): Matcher => {
    const steps = stepsOf(path)
    const make = MATCHERS[type]
    return steps === undefined || make === undefined ? () => undefined : make(steps, slice)
  }
}
