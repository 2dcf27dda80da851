/**
 * The shape of a type: its snapshot as a tree of fields, one block per element that has children of its own. What the
 * code generator reads. https://hl7.org/fhir/R4/json.html
 */
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

const suffixOf = (code: string): string => code.charAt(0).toUpperCase() + code.slice(1)

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
    return { kind: 'primitive', name: code, suffix: suffixOf(code) }
  }
  const narrows = type.profile?.length === 1 && code !== 'Extension' && code !== 'Reference'
  return {
    kind: 'complex',
    url: typeUrl(code),
    ...(narrows && { profile: type.profile[0]! }),
    suffix: suffixOf(code.slice(code.lastIndexOf('/') + 1)),
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

/** Reads the snapshot; slices are left out, they are for profiles. The definition must have a snapshot. */
export const fieldsOf = (definition: StructureDefinition): TypeFields => {
  const elements = definition.snapshot!.element.filter(
    (element) => !element.path.includes(':') && !(element.id ?? '').includes(':'),
  )
  const parents = new Set<string>()
  for (const { path } of elements) if (path.includes('.')) parents.add(path.slice(0, path.lastIndexOf('.')))

  const blocks = new Map<string, ElementBlock & { fields: Field[] }>()
  for (const element of elements) {
    const { path } = element
    if (parents.has(path) || !path.includes('.')) blocks.set(path, { path, fields: [], rules: rulesOf(element) })
    const dot = path.lastIndexOf('.')
    if (dot < 0) continue
    const choice = path.endsWith('[x]')
    const max = count(element.max)
    if (max === 0) continue
    const types: FieldType[] = element.contentReference
      ? [{ kind: 'block', path: element.contentReference.slice(element.contentReference.indexOf('#') + 1), suffix: '' }]
      : parents.has(path)
        ? [{ kind: 'block', path, suffix: '' }]
        : (element.type ?? []).map((type) => fieldType(type, path, definition.kind))
    const field = {
      name: choice ? path.slice(dot + 1, -3) : path.slice(dot + 1),
      choice,
      list: count(element.base?.max ?? element.max) > 1,
      min: element.min ?? 0,
      max,
      attribute: element.type?.some((type) => type.code.startsWith(SYSTEM)) === true,
      types,
      rules: rulesOf(element),
    }
    blocks.get(path.slice(0, dot))!.fields.push({ ...field, members: membersOf(field) })
  }
  return { url: definition.url, type: definition.type, kind: definition.kind, blocks }
}

/** The JSON names of a field with the type each stands for: `valueString`, `valueQuantity`… or just `name`. */
export const jsonNames = (field: Omit<Field, 'members'>): readonly (readonly [name: string, type: FieldType])[] =>
  field.choice
    ? field.types.map((type) => [field.name + type.suffix, type] as const)
    : field.types.slice(0, 1).map((type) => [field.name, type] as const)
