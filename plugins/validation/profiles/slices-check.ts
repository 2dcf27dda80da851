/** Sorts elements into the slices of a profile, and checks the number and the order of each slice. */
import type { Field } from '../../model/service.ts'
import { checkCardinality } from './check-cardinality.ts'
import type { ElementLocation, LocationPath } from './element-location.ts'
import type { Report } from './report.ts'
import type { SliceOf } from './slicing.ts'
import type { ProfileNode } from './tree.ts'

/** `spots`: the elements of `sliced`. `among`: its slices. `at`: the path of the list. */
export type SlicesCheck = (
  sliced: ProfileNode,
  among: readonly ProfileNode[],
  spots: readonly ElementLocation[],
  at: LocationPath,
  field: Field,
) => void

/** `element` checks an element against the node of its slice. */
export const createSlicesCheck = (
  report: Report,
  sliceOf: SliceOf,
  element: (node: ProfileNode, location: ElementLocation, field: Field) => void,
): SlicesCheck => {
  const check: SlicesCheck = (sliced, among, spots, at, field) => {
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
          report(
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
          report('error', 'structure', location.path, `the slice ${slice.slice} stands before ${among[latest]!.slice}`)
        }
        latest = Math.max(latest, order)
        if (rules === 'openAtEnd' && openEnd !== undefined) {
          report('error', 'structure', location.path, `the slice ${slice.slice} stands before what belongs to no slice`)
        }
      }
    }
    if (isUnsure)
      report('warning', 'incomplete', at, `it is not certain which slice of ${sliced.name} every element belongs to`)
    for (const [slice, own] of groups) {
      if (!isUnsure) checkCardinality(report, slice, own.length, at)
      for (const location of own) element(slice, location, field)
      if (slice.slices.length > 0) check(slice, slice.slices, own, at, field)
    }
  }
  return check
}
