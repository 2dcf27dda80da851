/** A QuestionnaireResponse beside its Questionnaire: each item of the response with the item that it answers. */
import { type Item, itemsOf } from '../questionnaire/items.ts'
import { isObject, type Json, objectsIn } from '../questionnaire/json.ts'

/** An item of the Questionnaire. */
export interface Definition {
  readonly item: Item
  readonly parent: Definition | undefined
  /** Items around it. */
  readonly depth: number
  /** Its place among the items beside it. */
  readonly order: number
  readonly children: readonly Definition[]
}

/** An item of the response, or the response itself. */
export interface Node {
  readonly json: Json
  /** Undefined for the response, and for an item that the Questionnaire does not have at this place. */
  readonly definition: Definition | undefined
  readonly parent: Node | undefined
  /** Index of the answer that it stands below; undefined where it stands below an item or the response. */
  readonly answer: number | undefined
  /** FHIRPath: `QuestionnaireResponse.item[0].answer[0].item[1]`. */
  readonly path: string
  readonly children: readonly Node[]
  readonly answers: readonly Json[]
  /** Position in the order of the response; the items below it have the positions up to `last`. */
  readonly first: number
  readonly last: number
}

export interface ResponseTree {
  readonly root: Node
  readonly definitions: readonly Definition[]
  /** The item of the Questionnaire with this linkId, wherever it is. */
  find(linkId: string): Definition | undefined
  /** Items of the response with this linkId below a node, in their order. */
  below(node: Node, linkId: string): readonly Node[]
}

const define = (
  parentItem: Json,
  parent: Definition | undefined,
  all: Map<string, Definition>,
): readonly Definition[] =>
  itemsOf(parentItem).map((item, order) => {
    const children: Definition[] = []
    const made: Definition = { item, parent, depth: parent === undefined ? 0 : parent.depth + 1, order, children }
    all.set(item.linkId, made)
    children.push(...define(item, made, all))
    return made
  })

export const readResponseTree = (questionnaire: Json, response: Json): ResponseTree => {
  const all = new Map<string, Definition>()
  const definitions = define(questionnaire, undefined, all)
  const byLinkId = new Map<string, Node[]>()
  let position = 0

  const read = (json: Json, path: string, parent: Node | undefined, answer?: number): Node => {
    const named = parent === undefined ? undefined : all.get(String(json.linkId))
    const isHere =
      named !== undefined &&
      named.parent === parent?.definition &&
      (parent?.parent === undefined || parent.definition !== undefined)
    const definition = isHere ? named : undefined
    const children: Node[] = []
    const answers = objectsIn(json.answer)
    position += 1
    const made = { json, definition, parent, answer, path, children, answers, first: position, last: position }
    if (parent !== undefined) {
      const linkId = String(json.linkId)
      const same = byLinkId.get(linkId)
      if (same === undefined) byLinkId.set(linkId, [made])
      else same.push(made)
    }
    const add = (holder: Json, at: string, index?: number): void => {
      if (!Array.isArray(holder.item)) return
      for (const [place, item] of holder.item.entries())
        if (isObject(item)) children.push(read(item, `${at}.item[${place}]`, made, index))
    }
    add(json, path)
    for (const [index, one] of answers.entries()) add(one, `${path}.answer[${index}]`, index)
    made.last = position
    return made
  }
  const root = read(response, 'QuestionnaireResponse', undefined)

  return {
    root,
    definitions,
    find: (linkId) => all.get(linkId),
    below({ first, last }, linkId) {
      const nodes = byLinkId.get(linkId) ?? []
      // Positions ascend, so the first one inside is found by halving.
      let [from, to] = [0, nodes.length]
      while (from < to) {
        const middle = (from + to) >> 1
        if ((nodes[middle] as Node).first < first) from = middle + 1
        else to = middle
      }
      let end = from
      while (end < nodes.length && (nodes[end] as Node).first <= last) end += 1
      return nodes.slice(from, end)
    },
  }
}
