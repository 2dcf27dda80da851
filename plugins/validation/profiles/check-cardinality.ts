import type { LocationPath } from './element-location.ts'
import type { Report } from './report.ts'
import type { ProfileNode } from './tree.ts'

const times = (count: number): string => (count === 1 ? 'once' : `${count} times`)

/** Checks how often an element or a slice is there. `path`: where its elements would be. */
export const checkCardinality = (report: Report, node: ProfileNode, count: number, path: LocationPath): void => {
  const what = node.slice === undefined ? `the element ${node.name}` : `the slice ${node.slice}`
  if (node.min !== undefined && count < node.min) {
    report('error', 'required', path, `${what} is required at least ${times(node.min)}, and is there ${times(count)}`)
  }
  if (node.max !== undefined && count > node.max) {
    const most = node.max === 0 ? `${what} is not allowed` : `${what} is allowed at most ${times(node.max)}`
    report('error', 'structure', path, `${most}, and is there ${times(count)}`)
  }
}
