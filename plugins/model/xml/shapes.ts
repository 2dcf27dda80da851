/**
 * What XML needs to know of a type: which elements are attributes, and the order, repetition and types of the others. It is
 * read from the StructureDefinition when a type is first met, together with all types of its elements.
 * https://hl7.org/fhir/R4/xml.html
 */
import type { Definitions } from '../../packages/service.ts'
import { NotLoaded } from '../snapshot/element-index.ts'
import {
  choiceMember,
  contentPath,
  type ElementNode,
  isInPlace,
  isList,
  readSnapshot,
} from '../snapshot/read-snapshot.ts'
import { type ElementDefinition, type StructureDefinition, typeUrl } from '../snapshot/structure-definition.ts'

/** An element of XML, and the member of JSON with the same name: `valueQuantity` for a choice. */
export interface XmlMember {
  readonly name: string
  /** Its place among the elements of its parent. All members of a choice have the same. */
  readonly position: number
  readonly repeats: boolean
  /** Key of the shape of its content; undefined for a resource. */
  readonly content: string | undefined
}

/** How JSON has the value of a primitive type. `xhtml` is a narrative, which is no attribute but markup. */
export type PrimitiveForm = 'string' | 'integer' | 'decimal' | 'boolean' | 'xhtml'

/** A type, or an element whose children are defined in place. */
export interface XmlShape {
  /** Its name in messages. */
  readonly name: string
  readonly primitive: PrimitiveForm | undefined
  /** Elements that are attributes in XML, in the order of the definition. */
  readonly attributes: readonly string[]
  readonly members: ReadonlyMap<string, XmlMember>
}

export interface XmlShapes {
  load(type: string): Promise<void>
  /** The shape of a type, or of an element by its path. Undefined where the type is not installed. Throws NotLoaded. */
  find(key: string): XmlShape | undefined
}

const SYSTEM = 'http://hl7.org/fhirpath/System.'
const PRIMITIVE = 'primitive-type'
const FORMS: Readonly<Record<string, PrimitiveForm>> = {
  [`${SYSTEM}Boolean`]: 'boolean',
  [`${SYSTEM}Decimal`]: 'decimal',
  [`${SYSTEM}Integer`]: 'integer',
}

const isRepresented = ({ representation }: ElementDefinition, as: string): boolean =>
  representation?.includes(as) === true

/** The definitions of the elements below a node, without those that the type forbids. */
const childrenOf = ({ children }: ElementNode): readonly (readonly [ElementNode, ElementDefinition])[] =>
  children.flatMap((child) => {
    const [definition] = child.definitions
    return definition === undefined || definition.max === '0' ? [] : [[child, definition] as const]
  })

/** The types that the definition of an element names, and where the content of each is described. */
const contentsOf = (
  { path }: ElementNode,
  definition: ElementDefinition,
): readonly (readonly [code: string, key: string])[] => {
  const content = contentPath(definition)
  if (content !== undefined) return [['', content]]
  return (definition.type ?? []).map(({ code }) => {
    const name = code.startsWith(SYSTEM) ? 'string' : code
    return [name, isInPlace(name) ? path : name] as const
  })
}

const toShape = (node: ElementNode, name: string, primitive: PrimitiveForm | undefined): XmlShape => {
  const attributes: string[] = []
  const members = new Map<string, XmlMember>()
  for (const [position, [child, definition]] of childrenOf(node).entries()) {
    if (primitive !== undefined && child.name === 'value') continue
    if (isRepresented(definition, 'xmlAttr')) {
      attributes.push(child.name)
      continue
    }
    for (const [code, key] of contentsOf(child, definition)) {
      const member = child.isChoice ? choiceMember(child.name, code) : child.name
      const content = code === 'Resource' ? undefined : key
      members.set(member, { name: member, position, repeats: isList(definition), content })
    }
  }
  return { name, primitive, attributes, members }
}

/** Shapes by key: the type itself, and each element with children in place by its path. */
const shapesOf = (code: string, root: ElementNode, primitive: PrimitiveForm | undefined): Map<string, XmlShape> => {
  const shapes = new Map([[code, toShape(root, code, primitive)]])
  const add = (node: ElementNode): void => {
    for (const [child] of childrenOf(node)) {
      if (child.children.length === 0) continue
      shapes.set(child.path, toShape(child, child.path, undefined))
      add(child)
    }
  }
  if (primitive === undefined) add(root)
  return shapes
}

/** Names of the types that the shapes refer to and do not describe themselves. */
const typesIn = (shapes: ReadonlyMap<string, XmlShape>): readonly string[] =>
  [...shapes.values()]
    .flatMap(({ members }) => [...members.values()].flatMap(({ content }) => content ?? []))
    .filter((key) => !shapes.has(key))

export const createXmlShapes = (definitions: Pick<Definitions, 'find' | 'fingerprint'>): XmlShapes => {
  let fingerprint = ''
  /** A type that no package defines is kept as undefined. */
  let known: ReadonlyMap<string, XmlShape | undefined> = new Map()

  const read = async (code: string): Promise<StructureDefinition | undefined> => {
    const found = await definitions.find('StructureDefinition', typeUrl(code))
    return found && (JSON.parse(found.json) as StructureDefinition)
  }

  /** Adds the type to the draft, and all types that it refers to. */
  const draw = async (draft: Map<string, XmlShape | undefined>, code: string): Promise<void> => {
    if (draft.has(code)) return
    draft.set(code, undefined) // types refer to one another in circles
    const definition = await read(code)
    if (definition === undefined) return
    const root = readSnapshot(code, definition.snapshot?.element ?? [])
    const shapes = shapesOf(
      code,
      root,
      definition.kind === PRIMITIVE ? await formOf(draft, root, definition) : undefined,
    )
    for (const type of typesIn(shapes)) await draw(draft, type)
    for (const [key, shape] of shapes) draft.set(key, shape)
  }

  /** The form that the `value` of the type declares, or where that is text, the form of the type that it derives from. */
  const formOf = async (
    draft: Map<string, XmlShape | undefined>,
    root: ElementNode,
    { baseDefinition }: StructureDefinition,
  ): Promise<PrimitiveForm> => {
    const value = root.children.find(({ name }) => name === 'value')?.definitions[0]
    if (value !== undefined && isRepresented(value, 'xhtml')) return 'xhtml'
    const own = FORMS[value?.type?.[0]?.code ?? '']
    if (own !== undefined || baseDefinition === undefined) return own ?? 'string'
    const base = baseDefinition.slice(baseDefinition.lastIndexOf('/') + 1)
    await draw(draft, base)
    return draft.get(base)?.primitive ?? 'string'
  }

  let loading: Promise<void> = Promise.resolve()
  return {
    load(type) {
      // One type at a time, and it becomes known together with all types that it refers to.
      const load = async (): Promise<void> => {
        const current = definitions.fingerprint
        const draft = new Map(current === fingerprint ? known : [])
        await draw(draft, type)
        fingerprint = current
        known = draft
      }
      loading = loading.catch(() => undefined).then(load)
      return loading
    },
    find(key) {
      if (fingerprint !== definitions.fingerprint || !known.has(key)) throw new NotLoaded(key)
      return known.get(key)
    },
  }
}
