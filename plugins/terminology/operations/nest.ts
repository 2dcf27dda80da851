/** Puts the codes of an expansion below the codes that are above them in their code system. */
import type { Concept } from '../code-system.ts'
import type { ExpandedCode } from '../expanded-codes.ts'

export interface Nested {
  readonly one: ExpandedCode
  readonly below: readonly Nested[]
}

interface Node extends Nested {
  readonly below: Node[]
  parent: Node | undefined
}

/** Whether a node is the other one or below it. */
const isBelow = (node: Node | undefined, other: Node): boolean => {
  for (let at = node; at !== undefined; at = at.parent) if (at === other) return true
  return false
}

/**
 * Each code once, below the first of its parents that is in the expansion, in the order of the expansion. A hierarchy that
 * leads in a circle is cut where it closes.
 */
export const nest = (codes: readonly ExpandedCode[]): readonly Nested[] => {
  const nodes = codes.map((one): Node => ({ one, below: [], parent: undefined }))
  const byConcept = new Map(nodes.flatMap((node) => (node.one.concept === undefined ? [] : [[node.one.concept, node]])))
  for (const node of nodes) {
    for (const concept of (node.one.concept as Concept | undefined)?.parents ?? []) {
      const parent = byConcept.get(concept)
      if (parent === undefined || isBelow(parent, node)) continue
      node.parent = parent
      parent.below.push(node)
      break
    }
  }
  return nodes.filter(({ parent }) => parent === undefined)
}
