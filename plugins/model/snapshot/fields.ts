/**
 * The fields of a type, from its snapshot: one block for the type and one for each element with children defined in place.
 * The code generator of validation and the compiler of invariants read them. https://hl7.org/fhir/R4/json.html
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
  /**
   * `name` is a FHIR primitive, or our own name for a string with a format: `reference`, `resource-id` or `element-id`. `suffix`
   * is what a choice element appends to its name in JSON, such as `String`.
   */
  | { readonly kind: 'primitive'; readonly name: string; readonly suffix: string }
  /** A data type. `profile` is set if the element narrows the type with one, such as Quantity with SimpleQuantity. */
  | { readonly kind: 'complex'; readonly url: string; readonly profile?: string; readonly suffix: string }
  /** Elements defined in place, in the block with this path. */
  | { readonly kind: 'block'; readonly path: string; readonly suffix: '' }
  | { readonly kind: 'resource'; readonly suffix: '' }

/** The rules of an element besides its structure. Descriptions are left out, to save memory. */
export interface ElementRules {
  readonly constraints: readonly Constraint[]
  /** Canonical URL of the value set of a required binding. */
  readonly required: string | undefined
}

/** A JSON member in which the value of a field may be. */
export interface FieldMember {
  readonly json: string
  /** Member with the extensions of a primitive: `_birthDate` for `birthDate`. */
  readonly under: string
  readonly type: FieldType
}

export interface FieldMembers {
  readonly all: readonly FieldMember[]
  /** By `json` and by `under`. */
  readonly byName: ReadonlyMap<string, FieldMember>
}

export interface Field {
  /** The name as in FHIRPath: `value` for value[x]. */
  readonly name: string
  readonly choice: boolean
  /** True if JSON has an array. The base definition decides that; a profile that allows one item does not change it. */
  readonly list: boolean
  readonly min: number
  /** Infinity for `*`. */
  readonly max: number
  /** True for an id and for Extension.url, which cannot have extensions and so no member `_name`. */
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
  /** By path; the first block is the type itself. */
  readonly blocks: ReadonlyMap<string, ElementBlock>
}

const SYSTEM = 'http://hl7.org/fhirpath/System.'
const FHIR_TYPE = 'http://hl7.org/fhir/StructureDefinition/structuredefinition-fhir-type'

/** R4's snapshots give ids and Extension.url the type `System.String`, and the FHIR type in an extension. */
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

/** The nodes that have a definition of their own; of the others the snapshot defines slices only. */
const describedIn = (nodes: readonly ElementNode[]): readonly ElementNode[] =>
  nodes.filter(({ definitions }) => definitions.length > 0)

const fieldFrom = ({ name, path, isChoice, definitions, children }: ElementNode, kind: string): Field => {
  const [element] = definitions as [ElementDefinition]
  const content = contentPath(element)
  const types: FieldType[] =
    content !== undefined
      ? [{ kind: 'block', path: content, suffix: '' }]
      : describedIn(children).length > 0
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

/** Reads the fields from the snapshot, which the definition must have. Slices are left out: profiles.ts of validation checks them. */
export const fieldsOf = ({ url, type, kind, snapshot }: StructureDefinition): TypeFields => {
  const blocks = new Map<string, ElementBlock>()
  const addBlock = ({ path, definitions, children }: ElementNode): void => {
    const described = describedIn(children)
    const fields = described
      .filter(({ definitions: [one] }) => count(one?.max) > 0)
      .map((child) => fieldFrom(child, kind))
    blocks.set(path, { path, fields, rules: rulesOf(definitions[0] ?? { path }) })
    for (const child of described) if (describedIn(child.children).length > 0) addBlock(child)
  }
  addBlock(readSnapshot(type, snapshot!.element))
  return { url, type, kind, blocks }
}

/** The JSON names of a field and the type of each: `valueString`, `valueQuantity` … for a choice, else its one name. */
export const jsonNames = (field: Omit<Field, 'members'>): readonly (readonly [name: string, type: FieldType])[] =>
  field.choice
    ? field.types.map((type) => [field.name + type.suffix, type] as const)
    : field.types.slice(0, 1).map((type) => [field.name, type] as const)
