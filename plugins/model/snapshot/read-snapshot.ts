/**
 * The elements of a StructureDefinition as a tree. Types, members, reference paths, fields and profile trees are made from
 * it. https://hl7.org/fhir/R4/elementdefinition.html
 */
import type { ElementDefinition } from './structure-definition.ts'

/** An element, or a slice of one. Its slices are told beside its children, which are those of the element itself. */
export interface ElementNode {
  /** As in FHIRPath: `value` for value[x]. */
  readonly name: string
  /** As the definition spells it: `Observation.value[x]`. */
  readonly path: string
  readonly isChoice: boolean
  /** Name of the slice this is. */
  readonly slice: string | undefined
  /** What is said of it: nothing where a differential only goes through it, and more than once in odd definitions. */
  readonly definitions: readonly ElementDefinition[]
  readonly children: readonly ElementNode[]
  readonly slices: readonly ElementNode[]
}

/** What a tree is grown of: nodes that are found by name and slice. */
export interface TreeNode<T> {
  readonly name: string
  readonly slice: string | undefined
  readonly children: T[]
  readonly slices: T[]
}

/** The child with this name, or the slice of it; made where there is none yet. */
export const childOf = <T extends TreeNode<T>>(
  node: T,
  name: string,
  slice: string | undefined,
  make: (slice: string | undefined) => T,
): T => {
  let child = node.children.find((one) => one.name === name)
  if (child === undefined) {
    child = make(undefined)
    node.children.push(child)
  }
  if (slice === undefined) return child
  // A slice of a slice is called outer/inner.
  const slash = slice.lastIndexOf('/')
  const outer = slash < 0 ? undefined : child.slices.find((one) => one.slice === slice.slice(0, slash))
  const among = (outer ?? child).slices
  let found = among.find((one) => one.slice === slice)
  if (found === undefined) {
    found = make(slice)
    among.push(found)
  }
  return found
}

interface GrowingNode extends TreeNode<GrowingNode> {
  readonly path: string
  readonly isChoice: boolean
  readonly definitions: ElementDefinition[]
}

/** `component:systolic` → name and slice for every step of the path. */
const stepsOf = ({ id, path, sliceName }: ElementDefinition): readonly (readonly [name: string, slice?: string])[] => {
  const names = path.split('.')
  const parts = id?.split('.')
  if (parts?.length === names.length) {
    return parts.map((part) => {
      const colon = part.indexOf(':')
      return colon < 0 ? [part] : [part.slice(0, colon), part.slice(colon + 1)]
    })
  }
  return names.map((name, at) => (at === names.length - 1 && sliceName !== undefined ? [name, sliceName] : [name]))
}

const CHOICE = '[x]'

const newNode = (name: string, path: string, slice: string | undefined): GrowingNode => ({
  ...{ name, path, slice, isChoice: path.endsWith(CHOICE), definitions: [], children: [], slices: [] },
})

/** The tree of the elements of a snapshot or differential. */
export const readSnapshot = (type: string, elements: readonly ElementDefinition[]): ElementNode => {
  // The type of a logical model is a URL, and its paths begin with a name.
  const start = elements[0]?.path.split('.')[0] ?? type
  const root = newNode(start, start, undefined)
  const byPath = new Map([[start, root]])
  const stepTo = (from: GrowingNode, rawName: string, slice: string | undefined, path: string): GrowingNode => {
    const name = rawName.endsWith(CHOICE) ? rawName.slice(0, -CHOICE.length) : rawName
    return childOf(from, name, slice, (own) => newNode(name, path, own))
  }
  const find = (element: ElementDefinition): GrowingNode => {
    const { id, path, sliceName } = element
    // Most are children of an element that is no slice, and was told of before.
    const dot = path.lastIndexOf('.')
    const parent = id === path || (id ?? sliceName) === undefined ? byPath.get(path.slice(0, dot)) : undefined
    if (parent !== undefined && dot > 0) {
      const node = stepTo(parent, path.slice(dot + 1), undefined, path)
      byPath.set(path, node)
      return node
    }
    const names = path.split('.')
    let node = root
    for (const [at, [name, slice]] of stepsOf(element).entries())
      if (at > 0) node = stepTo(node, name, slice, names.slice(0, at + 1).join('.'))
    return node
  }
  for (const element of elements) find(element).definitions.push(element)
  return root
}

/** All elements below a node that are told of, without slices, each before its own children. */
export const elementsBelow = (node: ElementNode, into: ElementNode[] = []): readonly ElementNode[] => {
  for (const child of node.children) {
    if (child.definitions.length > 0) into.push(child)
    elementsBelow(child, into)
  }
  return into
}

/** Path of the elements this one has the content of: `Questionnaire.item`. */
export const contentPath = ({ contentReference }: ElementDefinition): string | undefined =>
  contentReference?.slice(contentReference.indexOf('#') + 1)

const IN_PLACE = new Set(['BackboneElement', 'Element'])

/** Whether the elements of a type are those told of below the element. */
export const isInPlace = (code: string): boolean => IN_PLACE.has(code)

/** An array in JSON: what the base says, as a profile may say that there is one at most. */
export const isList = ({ base, max }: ElementDefinition): boolean => {
  const most = base?.max ?? max
  return most !== '0' && most !== '1'
}

/** Member in JSON of a choice with a value of a type: `valueQuantity`. */
export const choiceMember = (name: string, code: string): string => name + code.charAt(0).toUpperCase() + code.slice(1)
