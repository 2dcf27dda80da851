/**
 * The shape of a type: its snapshot as a tree of fields, one block per element that has children of its own. What the
 * code generator reads. https://hl7.org/fhir/R4/json.html
 */

import { choiceMember, contentPath, type ElementNode, isList, readSnapshot } from './read-snapshot.ts'
import {
  type Constraint,
  type ElementDefinition,
  type StructureDefinition,
  type TypeReference,
  typeUrl,
} from './structure-definition.ts'

export type FieldType =
  /** A primitive: `name` is a FHIR primitive, or `reference`, `resource-id`, `element-id` for strings that have a format. */
  | { readonly kind: 'primitive'; readonly name: string; readonly suffix: string }
  /** A data type; `profile` when the element narrows it with one (Quantity to SimpleQuantity). */
  | { readonly kind: 'complex'; readonly url: string; readonly profile?: string; readonly suffix: string }
  /** Elements defined in place: the block with this path. */
  | { readonly kind: 'block'; readonly path: string; readonly suffix: '' }
  | { readonly kind: 'resource'; readonly suffix: '' }

/** What an element is held to besides its structure. The texts of the definition are not kept. */
export interface ElementRules {
  readonly constraints: readonly Constraint[]
  /** Canonical of the value set of a required binding. */
  readonly required: string | undefined
}

/** A member of an object in JSON that a field may be in. */
export interface FieldMember {
  readonly json: string
  /** Where the extensions of a primitive are. */
  readonly under: string
  readonly type: FieldType
}

export interface FieldMembers {
  readonly all: readonly FieldMember[]
  /** By both names. */
  readonly byName: ReadonlyMap<string, FieldMember>
}

export interface Field {
  /** As in FHIRPath: `value` for value[x]. */
  readonly name: string
  readonly choice: boolean
  /** An array in JSON, which the base decides, not the profile. */
  readonly list: boolean
  readonly min: number
  /** Infinity for `*`. */
  readonly max: number
  /** An id or Extension.url: it takes no extensions, so no `_name`. */
  readonly attribute: boolean
  readonly types: readonly FieldType[]
  readonly rules: ElementRules
  readonly members: FieldMembers
}

export interface ElementBlock {
  readonly path: string
  readonly fields: readonly Field[]
  readonly rules: ElementRules
}

export interface TypeFields {
  readonly url: string
  readonly type: string
  readonly kind: StructureDefinition['kind']
  /** By path; the first is the type itself. */
  readonly blocks: ReadonlyMap<string, ElementBlock>
}

const SYSTEM = 'http://hl7.org/fhirpath/System.'
const FHIR_TYPE = 'http://hl7.org/fhir/StructureDefinition/structuredefinition-fhir-type'

/** R4's snapshots call the ids and Extension.url `System.String` and put the FHIR type into an extension. */
const systemType = (type: TypeReference, path: string, kind: string): string => {
  if (path.endsWith('.id')) {
    return kind === 'resource' && path.indexOf('.') === path.lastIndexOf('.') ? 'resource-id' : 'element-id'
  }
  for (const extension of type.extension ?? []) {
    if (extension.url === FHIR_TYPE) return String(extension.valueUrl ?? extension.valueUri ?? 'string')
  }
  return 'string'
}

const fieldType = (type: TypeReference, path: string, kind: string): FieldType => {
  const { code } = type
  if (code.startsWith(SYSTEM)) return { kind: 'primitive', name: systemType(type, path, kind), suffix: '' }
  if (path === 'Reference.reference') return { kind: 'primitive', name: 'reference', suffix: 'String' }
  if (code === 'Resource') return { kind: 'resource', suffix: '' }
  const first = code.charCodeAt(0)
  if (first >= 97 && first <= 122 && !code.includes(':')) {
    return { kind: 'primitive', name: code, suffix: choiceMember('', code) }
  }
  const narrows = type.profile?.length === 1 && code !== 'Extension' && code !== 'Reference'
  return {
    kind: 'complex',
    url: typeUrl(code),
    ...(narrows && { profile: type.profile[0]! }),
    suffix: choiceMember('', code.slice(code.lastIndexOf('/') + 1)),
  }
}

const count = (max: string | undefined): number => (max === undefined || max === '*' ? Infinity : Number(max))

const rulesOf = ({ constraint, binding }: ElementDefinition): ElementRules => ({
  constraints: (constraint ?? []).map(({ key, severity, human, expression, source }) => ({
    key,
    severity,
    human,
    ...(expression !== undefined && { expression }),
    ...(source !== undefined && { source }),
  })),
  required: binding?.strength === 'required' ? binding.valueSet : undefined,
})

const membersOf = (field: Omit<Field, 'members'>): FieldMembers => {
  const all = jsonNames(field).map(([json, type]) => ({ json, under: `_${json}`, type }))
  return { all, byName: new Map(all.flatMap((one) => [[one.json, one] as const, [one.under, one] as const])) }
}

/** Without those that only slices are told of. */
const toldIn = (nodes: readonly ElementNode[]): readonly ElementNode[] =>
  nodes.filter(({ definitions }) => definitions.length > 0)

const fieldFrom = ({ name, path, isChoice, definitions, children }: ElementNode, kind: string): Field => {
  const [element] = definitions as [ElementDefinition]
  const content = contentPath(element)
  const types: FieldType[] =
    content !== undefined
      ? [{ kind: 'block', path: content, suffix: '' }]
      : toldIn(children).length > 0
        ? [{ kind: 'block', path, suffix: '' }]
        : (element.type ?? []).map((type) => fieldType(type, path, kind))
  const field = {
    name,
    choice: isChoice,
    list: isList(element),
    min: element.min ?? 0,
    max: count(element.max),
    attribute: element.type?.some((type) => type.code.startsWith(SYSTEM)) === true,
    types,
    rules: rulesOf(element),
  }
  return { ...field, members: membersOf(field) }
}

/** Reads the snapshot; slices are left out, they are for profiles. The definition must have a snapshot. */
export const fieldsOf = ({ url, type, kind, snapshot }: StructureDefinition): TypeFields => {
  const blocks = new Map<string, ElementBlock>()
  const addBlock = ({ path, definitions, children }: ElementNode): void => {
    const told = toldIn(children)
    const fields = told.filter(({ definitions: [one] }) => count(one?.max) > 0).map((child) => fieldFrom(child, kind))
    blocks.set(path, { path, fields, rules: rulesOf(definitions[0] ?? { path }) })
    for (const child of told) if (toldIn(child.children).length > 0) addBlock(child)
  }
  addBlock(readSnapshot(type, snapshot!.element))
  return { url, type, kind, blocks }
}

/** The JSON names of a field with the type each stands for: `valueString`, `valueQuantity`… or just `name`. */
export const jsonNames = (field: Omit<Field, 'members'>): readonly (readonly [name: string, type: FieldType])[] =>
  field.choice
    ? field.types.map((type) => [field.name + type.suffix, type] as const)
    : field.types.slice(0, 1).map((type) => [field.name, type] as const)
