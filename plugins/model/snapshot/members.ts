/**
 * Which members a type has in JSON, from the StructureDefinitions: choice elements under their real names, repeats,
 * elements that point at another one's content. https://hl7.org/fhir/R4/json.html
 */

import { choiceMember, contentPath, type ElementNode, elementsBelow, isInPlace, readSnapshot } from './read-snapshot.ts'
import type { ElementDefinition, StructureDefinition } from './structure-definition.ts'

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

export interface Members {
  /** Children an expression names: `value` gives every choice, `extension` works everywhere. Empty when there is none. */
  children(context: ContextType, name: string): readonly Member[]
  /** True for a type or element whose definition is there. */
  has(context: ContextType): boolean
}

// FHIRPath types of `id` and `url` elements are spelled with a URI of the FHIRPath specification.
const codeOf = (code: string): string =>
  code.startsWith('http://hl7.org/fhirpath/System.') ? code.slice(31).replace(/^./, (one) => one.toLowerCase()) : code

type StoredChild = readonly [member: string, context: ContextType, many: 0 | 1, binding?: string]

/** Members by context and name, as they are kept. */
export type StoredMembers = Readonly<Record<ContextType, Readonly<Record<string, readonly StoredChild[]>>>>

const storeChildren = ({ name, path, isChoice, definitions }: ElementNode): StoredChild[] => {
  const [element] = definitions as [ElementDefinition]
  const { max, type = [], binding } = element
  const many = max !== '0' && max !== '1' ? 1 : 0
  const content = contentPath(element)
  if (content !== undefined) return [[name, content, many]]
  if (isChoice) return type.map(({ code }) => [choiceMember(name, code), codeOf(code), many])
  const code = codeOf(type[0]?.code ?? 'Element')
  const valueSet = code === 'code' && binding?.strength === 'required' ? binding.valueSet : undefined
  const context = isInPlace(code) ? path : code
  return [valueSet === undefined ? [name, context, many] : [name, context, many, valueSet]]
}

export const storeMembers = (structures: readonly StructureDefinition[]): StoredMembers => {
  const made: Record<ContextType, Record<string, StoredChild[]>> = Object.create(null)
  for (const { type, derivation, snapshot } of structures) {
    if (derivation === 'constraint') continue
    for (const element of elementsBelow(readSnapshot(type, snapshot?.element ?? []))) {
      const parent = element.path.slice(0, element.path.lastIndexOf('.'))
      made[parent] ??= Object.create(null) as Record<string, StoredChild[]>
      made[parent][element.name] = storeChildren(element)
    }
  }
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

export const createMembers = (structures: readonly StructureDefinition[]): Members =>
  openMembers(storeMembers(structures))
