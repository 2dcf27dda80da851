/**
 * A profile as a tree of what it asks: one node per element or slice. Made from the snapshot; without one, from the tree
 * of the base with the differential laid over it. https://hl7.org/fhir/R4/profiling.html
 */
import {
  type Constraint,
  childOf,
  type ElementDefinition,
  type ElementNode,
  readSnapshot,
  type Slicing,
  type StructureDefinition,
  type TypeReference,
} from '../../model/service.ts'

export interface ProfileNode {
  /** As in FHIRPath, without [x]; a differential may say `valueQuantity` for value[x]. */
  readonly name: string
  readonly path: string
  /** Name of the slice this node is; undefined for the element itself. */
  readonly slice: string | undefined
  min: number | undefined
  max: number | undefined
  types: readonly TypeReference[] | undefined
  /** The value of fixed[x] */
  fixed: unknown
  /** The value of pattern[x] */
  pattern: unknown
  binding:
    | { readonly strength: string; readonly valueSet: string | undefined; readonly max: string | undefined }
    | undefined
  constraints: readonly Constraint[]
  slicing: Slicing | undefined
  minValue: unknown
  maxValue: unknown
  maxLength: number | undefined
  readonly children: ProfileNode[]
  readonly slices: ProfileNode[]
}

export interface ProfileTree {
  readonly url: string
  readonly type: string
  readonly root: ProfileNode
  /** What of it cannot be checked, as sentences. */
  readonly gaps: readonly string[]
}

const MAX_VALUE_SET = 'http://hl7.org/fhir/StructureDefinition/elementdefinition-maxValueSet'

const emptyNode = (name: string, path: string, slice: string | undefined): ProfileNode => ({
  ...{ name, path, slice, min: undefined, max: undefined, types: undefined, fixed: undefined, pattern: undefined },
  ...{ binding: undefined, constraints: [], slicing: undefined, minValue: undefined, maxValue: undefined },
  ...{ maxLength: undefined, children: [], slices: [] },
})

const copy = (node: ProfileNode): ProfileNode => ({
  ...node,
  children: node.children.map(copy),
  slices: node.slices.map(copy),
})

/** The value of a choice such as fixed[x]. */
const choice = (element: ElementDefinition, name: string): unknown => {
  for (const key in element) {
    const next = key.charCodeAt(name.length)
    if (key.startsWith(name) && next >= 65 && next <= 90) return element[key]
  }
  return undefined
}

const count = (max: unknown): number => (max === '*' ? Infinity : Number(max))

const merge = (node: ProfileNode, element: ElementDefinition): void => {
  const { base, binding } = element
  // What the base definition asks is checked with the structure.
  const isOwn = base === undefined || element.min !== base.min || element.max !== base.max || node.slice !== undefined
  if (isOwn && element.min !== undefined) node.min = element.min
  if (isOwn && element.max !== undefined) node.max = count(element.max)
  if (element.type !== undefined) node.types = element.type
  node.fixed = choice(element, 'fixed') ?? node.fixed
  node.pattern = choice(element, 'pattern') ?? node.pattern
  node.minValue = choice(element, 'minValue') ?? node.minValue
  node.maxValue = choice(element, 'maxValue') ?? node.maxValue
  if (typeof element.maxLength === 'number') node.maxLength = element.maxLength
  if (element.slicing !== undefined) node.slicing = element.slicing
  if (binding !== undefined) {
    const extensions = (binding as { extension?: readonly Record<string, unknown>[] }).extension
    const max = extensions?.find(({ url }) => url === MAX_VALUE_SET)
    node.binding = {
      strength: binding.strength,
      valueSet: binding.valueSet,
      max: (max?.valueCanonical ?? max?.valueUri) as string | undefined,
    }
  }
  const keys = new Set(element.constraint?.map(({ key }) => key))
  node.constraints = [...node.constraints.filter(({ key }) => !keys.has(key)), ...(element.constraint ?? [])]
}

/** Lays what is said of an element and all below it over what was said before. */
const layOver = (node: ProfileNode, { definitions, children }: ElementNode): void => {
  for (const element of definitions) merge(node, element)
  const layBelow = (one: ElementNode): void => {
    const { name, slice, slices } = one
    layOver(
      childOf(node, name, slice, (own) => emptyNode(name, `${node.path}.${name}`, own)),
      one,
    )
    for (const inner of slices) layBelow(inner)
  }
  for (const child of children) layBelow(child)
}

/**
 * `base(url)` gives the tree of the base of a profile without snapshot: `undefined` when it is not installed, `null` when
 * it is not known yet; then so is this.
 */
export const treeOf = (
  profile: StructureDefinition,
  base: (url: string) => ProfileTree | null | undefined,
): ProfileTree | null => {
  const { url, type, baseDefinition } = profile
  const root = emptyNode(type, type, undefined)
  if (profile.snapshot !== undefined) {
    layOver(root, readSnapshot(type, profile.snapshot.element))
    return { url, type, root, gaps: [] }
  }
  const below = baseDefinition === undefined ? undefined : base(baseDefinition)
  if (below === null) return null
  const gaps = below?.gaps.slice() ?? [
    `it has no snapshot, and its base ${baseDefinition ?? ''} is not installed: only what it says itself is checked`,
  ]
  const start = below === undefined ? root : copy(below.root)
  layOver(start, readSnapshot(type, profile.differential?.element ?? []))
  return { url, type, root: start, gaps }
}
