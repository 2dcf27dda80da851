/**
 * Where each type holds links: references with the types they may point at, elements of type uri and url, and narratives.
 * R4 names elements of type oid and uuid too; a reference is no value of these types, so what stands there is left. Compiled from the StructureDefinitions once per set of packages and kept with the catalog.
 */

import {
  choiceMember,
  contentPath,
  type ElementNode,
  elementsBelow,
  isInPlace,
  readSnapshot,
} from '../snapshot/read-snapshot.ts'
import type { ElementDefinition, StructureDefinition, TypeReference } from '../snapshot/structure-definition.ts'

/**
 * What a member holds: a number is a Reference (index into `targets`), `uri` a value of type uri or url, `xhtml` a
 * narrative, `*` any resource; anything else names a context.
 */
export type ReferencePathNode = number | string

export interface ReferencePaths {
  /** Lists of types a reference may point at; an empty one allows all. */
  readonly targets: readonly (readonly string[])[]
  /** By context, a type (`HumanName`) or a path (`Patient.contact`): the members in JSON that lead to links. */
  readonly contexts: Readonly<Record<string, Readonly<Record<string, ReferencePathNode>>>>
  /** By context: members that are one type of a choice, and the name of the element: `valueReference`, `value`. */
  readonly choices: Readonly<Record<string, Readonly<Record<string, string>>>>
  /** By URL of an extension: what its valueReference may point at, and those of the extensions in it. */
  readonly extensions: Readonly<Record<string, ExtensionTargets>>
}

export interface ExtensionTargets {
  readonly targets?: number
  readonly nested?: Readonly<Record<string, number>>
}

const URIS = new Set(['uri', 'url'])
const ANY = new Set(['Resource', 'DomainResource'])

export const compileReferencePaths = (structures: readonly StructureDefinition[]): ReferencePaths => {
  const targets: string[][] = [[]]
  const known = new Map<string, number>([['', 0]])
  const typeOf = new Map(structures.map(({ url, type }) => [url, type]))
  const primitives = new Set(structures.filter(({ kind }) => kind === 'primitive-type').map(({ type }) => type))

  const toTargets = (profiles: readonly string[] | undefined): number => {
    const names = (profiles ?? []).map((url) => typeOf.get(url) ?? url.slice(url.lastIndexOf('/') + 1))
    if (names.some((name) => ANY.has(name))) return 0
    const list = [...new Set(names)].sort()
    const key = list.join(' ')
    const found = known.get(key) ?? targets.push(list) - 1
    known.set(key, found)
    return found
  }

  /** What a value of one type is; undefined when no link is in it. */
  const toNode = ({ code, targetProfile }: TypeReference, path: string): ReferencePathNode | undefined => {
    if (code === 'Reference') return toTargets(targetProfile)
    if (URIS.has(code)) return 'uri'
    if (code === 'xhtml') return 'xhtml'
    if (ANY.has(code)) return '*'
    if (isInPlace(code)) return path
    // FHIRPath's own types spell the values of id and url.
    return primitives.has(code) || code.startsWith('http://hl7.org/fhirpath/') ? undefined : code
  }

  const contexts: Record<string, Record<string, ReferencePathNode>> = {}
  const choices: Record<string, Record<string, string>> = {}
  const addElement = ({ name, path, isChoice, definitions }: ElementNode): void => {
    const [element] = definitions as [ElementDefinition]
    if (element.max === '0') return
    const context = path.slice(0, path.lastIndexOf('.'))
    contexts[context] ??= {}
    const members = contexts[context]
    const content = contentPath(element)
    if (content !== undefined) {
      members[name] = content
      return
    }
    for (const one of element.type ?? []) {
      const node = toNode(one, path)
      if (node === undefined) continue
      const member = isChoice ? choiceMember(name, one.code) : name
      members[member] = node
      if (!isChoice) continue
      choices[context] ??= {}
      choices[context][member] = name
    }
  }

  const extensions: Record<string, ExtensionTargets> = {}
  const addExtension = (url: string, root: ElementNode): void => {
    const targetsOf = ({ type }: ElementDefinition): number => {
      const reference = type?.find(({ code }) => code === 'Reference')
      return reference === undefined ? 0 : toTargets(reference.targetProfile)
    }
    let own: number | undefined
    const nested: Record<string, number> = {}
    /** `put` keeps what the value may point at; not called where that is anything. */
    const visit = (node: ElementNode, put: (found: number) => void): void => {
      for (const child of node.children)
        for (const one of [child, ...child.slices]) {
          const isValue = /\.value(?:\[x\]|Reference)$/.test(one.path)
          for (const found of isValue ? one.definitions.map(targetsOf) : []) if (found !== 0) put(found)
          const name = one.children.find((inner) => inner.name === 'url')?.definitions[0]?.fixedUri
          visit(one, (found) => {
            if (node === root && one.name === 'extension' && one.slice !== undefined && typeof name === 'string')
              nested[name] = found
          })
        }
    }
    visit(root, (found) => {
      own = found
    })
    if (own === undefined && Object.keys(nested).length === 0) return
    extensions[url] = {
      ...(own === undefined ? {} : { targets: own }),
      ...(Object.keys(nested).length === 0 ? {} : { nested }),
    }
  }

  for (const { url, type, derivation, snapshot } of structures) {
    if (derivation === 'constraint' && type !== 'Extension') continue
    const root = readSnapshot(type, snapshot?.element ?? [])
    if (derivation === 'constraint') addExtension(url, root)
    else for (const element of elementsBelow(root)) addElement(element)
  }
  return { targets, contexts, choices, extensions }
}
