/**
 * Which members a type has in JSON, from the StructureDefinitions: choice elements under their real names, repeats,
 * elements that point at another one's content. https://hl7.org/fhir/R4/json.html
 */

/** What a value is: a FHIR type by name, or an element with members of its own by its path (`Observation.component`). */
export type ContextType = string

export interface Member {
  /** Member in JSON: `valueQuantity`. */
  readonly member: string
  readonly context: ContextType
  readonly many: boolean
  /** Value set a `code` must be from. */
  readonly binding?: string
}

interface ElementDefinition {
  readonly path: string
  readonly max?: string
  readonly contentReference?: string
  readonly type?: readonly { readonly code: string }[]
  readonly binding?: { readonly strength: string; readonly valueSet?: string }
}

export interface MembersInput {
  readonly type: string
  readonly kind: string
  readonly abstract: boolean
  readonly derivation?: string
  readonly snapshot?: { readonly element: readonly ElementDefinition[] }
}

export interface Members {
  /** Children an expression names: `value` gives every choice, `extension` works everywhere. Empty when there is none. */
  children(context: ContextType, name: string): readonly Member[]
  /** True for a type or element whose definition is there. */
  has(context: ContextType): boolean
}

const INLINE = new Set(['BackboneElement', 'Element'])

const upperFirst = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)

// FHIRPath types of `id` and `url` elements are spelled with a URI of the FHIRPath specification.
const codeOf = (code: string): string =>
  code.startsWith('http://hl7.org/fhirpath/System.') ? code.slice(31).replace(/^./, (one) => one.toLowerCase()) : code

type StoredChild = readonly [member: string, context: ContextType, many: 0 | 1, binding?: string]

/** Members by context and name, as they are kept. */
export type StoredMembers = Readonly<Record<ContextType, Readonly<Record<string, readonly StoredChild[]>>>>

export const storeMembers = (structures: readonly MembersInput[]): StoredMembers => {
  const made: Record<ContextType, Record<string, StoredChild[]>> = Object.create(null)
  const put = (parent: string, name: string, children: StoredChild[]): void => {
    const names = made[parent] ?? Object.create(null)
    names[name] = children
    made[parent] = names
  }
  const addElement = ({ path, max, contentReference, type = [], binding }: ElementDefinition): void => {
    const dot = path.lastIndexOf('.')
    if (dot === -1) return
    const parent = path.slice(0, dot)
    const many = max !== '0' && max !== '1' ? 1 : 0
    const name = path.slice(dot + 1)
    if (contentReference !== undefined)
      put(parent, name, [[name, contentReference.slice(contentReference.indexOf('#') + 1), many]])
    else if (name.endsWith('[x]')) {
      const bare = name.slice(0, -3)
      put(
        parent,
        bare,
        type.map(({ code }) => [bare + upperFirst(code), codeOf(code), many]),
      )
    } else {
      const code = codeOf(type[0]?.code ?? 'Element')
      const valueSet = code === 'code' && binding?.strength === 'required' ? binding.valueSet : undefined
      const context = INLINE.has(code) ? path : code
      put(parent, name, [valueSet === undefined ? [name, context, many] : [name, context, many, valueSet]])
    }
  }
  for (const { derivation, snapshot } of structures)
    if (derivation !== 'constraint') for (const element of snapshot?.element ?? []) addElement(element)
  return made
}

const EXTENSION: readonly Member[] = [{ member: 'extension', context: 'Extension', many: true }]

export const openMembers = (stored: StoredMembers): Members => {
  const toChild = ([member, type, many, binding]: StoredChild): Member => ({
    member,
    context: type,
    many: many === 1,
    ...(binding === undefined ? {} : { binding }),
  })
  const toChildren = (names: StoredMembers[string]): ReadonlyMap<string, readonly Member[]> => {
    const children = new Map<string, readonly Member[]>()
    // Guides name a choice with its type too: `valueDateTime`.
    for (const list of Object.values(names)) for (const one of list) children.set(one[0], [toChild(one)])
    for (const [name, list] of Object.entries(names)) children.set(name, list.map(toChild))
    return children
  }
  const childrenOf = new Map(Object.entries(stored).map(([context, names]) => [context, toChildren(names)]))
  return {
    children: (context, name) => childrenOf.get(context)?.get(name) ?? (name === 'extension' ? EXTENSION : []),
    has: (context) => childrenOf.has(context),
  }
}

export const createMembers = (structures: readonly MembersInput[]): Members => openMembers(storeMembers(structures))
