/**
 * Decides which slice an element belongs to. A discriminator is a path: the values that it selects in the element are compared
 * with what the slice requires at the same path.
 * https://hl7.org/fhir/R4/profiling.html#discriminator
 */

import type { Slicing } from '../../model/service.ts'
import type { ElementLocation } from './element-location.ts'
import { createSliceMatchers, type Matcher, type MatcherTools } from './slice-matchers.ts'
import type { ProfileNode } from './tree.ts'

/** The discriminators of an element. If the definition gives none, extensions are sliced by URL and choices by type. */
const discriminators = ({ name, slicing }: { name: string; slicing: Slicing | undefined }, isChoice: boolean) => {
  if (slicing?.discriminator !== undefined && slicing.discriminator.length > 0) return slicing.discriminator
  if (name === 'extension' || name === 'modifierExtension') return [{ type: 'value', path: 'url' } as const]
  return isChoice ? [{ type: 'type', path: '$this' } as const] : []
}

/**
 * Returns the slice in `among` that the element belongs to, null if it belongs to none, or undefined if that cannot be decided.
 * `sliced` is the node with the discriminators.
 */
export type SliceOf = (
  sliced: ProfileNode,
  among: readonly ProfileNode[],
  location: ElementLocation,
  isChoice: boolean,
) => ProfileNode | null | undefined

export const createSlicing = (tools: MatcherTools): SliceOf => {
  const matcher = createSliceMatchers(tools)
  const made = new Map<ProfileNode, readonly Matcher[]>()

  return (sliced, among, location, isChoice) => {
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
