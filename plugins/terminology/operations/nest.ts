/** Puts the codes of an expansion below the codes that are above them in their code system. */
import type { ConceptSource } from '../concept-source.ts'
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

/** Nodes of each code system of which more is known than the code, by the places of their concepts. */
const bySource = (nodes: readonly Node[]): ReadonlyMap<ConceptSource, ReadonlyMap<number, Node>> => {
  const found = new Map<ConceptSource, Map<number, Node>>()
  for (const node of nodes) {
    const { concept, source } = node.one
    if (concept === undefined || source === undefined) continue
    const places = found.get(source) ?? new Map<number, Node>()
    places.set(concept.place, node)
    found.set(source, places)
  }
  return found
}

/**
 * Each code once, below the first of its parents that is in the expansion, in the order of the expansion. A hierarchy that
 * leads in a circle is cut where it closes.
 */
export const nest = async (codes: readonly ExpandedCode[]): Promise<readonly Nested[]> => {
  const nodes = codes.map((one): Node => ({ one, below: [], parent: undefined }))
  for (const [source, byPlace] of bySource(nodes)) {
    const parents = await source.parentsOf([...byPlace.keys()])
    for (const [at, node] of [...byPlace.values()].entries())
      for (const place of parents[at] ?? []) {
        const parent = byPlace.get(place)
        if (parent === undefined || isBelow(parent, node)) continue
        node.parent = parent
        parent.below.push(node)
        break
      }
  }
  return nodes.filter(({ parent }) => parent === undefined)
}
