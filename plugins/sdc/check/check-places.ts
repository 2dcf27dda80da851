/** Checks that items of a response are those of the Questionnaire at their place, in its order. */
import type { Report } from './check-contract.ts'
import type { Node, ResponseTree } from './response-tree.ts'

/** `nodes`: the items of the response at one place. */
export const checkPlaces = (tree: ResponseTree, nodes: readonly Node[], report: Report): void => {
  let order = -1
  for (const { json, definition, path } of nodes) {
    const linkId = String(json.linkId).slice(0, 100)
    if (definition === undefined) {
      const isElsewhere = tree.find(String(json.linkId)) !== undefined
      const why = isElsewhere ? `stands at another place in the Questionnaire` : `is no item of the Questionnaire`
      report('error', isElsewhere ? 'structure' : 'not-found', path, `The item "${linkId}" ${why}.`)
    } else if (definition.order < order)
      report(
        'error',
        'structure',
        path,
        `The item "${linkId}" stands before others in the Questionnaire; the order has to be the same.`,
      )
    else order = definition.order
  }
}
