/**
 * Where each type holds links: references with the types they may point at, elements of type uri and url, and narratives.
 * R4 names elements of type oid and uuid too; a reference is no value of these types, so what stands there is left. Compiled from the StructureDefinitions once per set of packages and kept with the catalog.
 */

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

interface ElementType {
  readonly code: string
  readonly targetProfile?: readonly string[]
}

export interface PathElement {
  readonly id?: string
  readonly path: string
  readonly max?: string
  readonly contentReference?: string
  readonly type?: readonly ElementType[]
  readonly fixedUri?: string
}

export interface PathStructure {
  readonly url: string
  readonly type: string
  readonly kind: string
  readonly derivation?: string
  readonly snapshot?: { readonly element: readonly PathElement[] }
}

const URIS = new Set(['uri', 'url'])
const INLINE = new Set(['BackboneElement', 'Element'])
const ANY = new Set(['Resource', 'DomainResource'])

const upperFirst = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)

export const compileReferencePaths = (structures: readonly PathStructure[]): ReferencePaths => {
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
  const toNode = ({ code, targetProfile }: ElementType, path: string): ReferencePathNode | undefined => {
    if (code === 'Reference') return toTargets(targetProfile)
    if (URIS.has(code)) return 'uri'
    if (code === 'xhtml') return 'xhtml'
    if (ANY.has(code)) return '*'
    if (INLINE.has(code)) return path
    // FHIRPath's own types spell the values of id and url.
    return primitives.has(code) || code.startsWith('http://hl7.org/fhirpath/') ? undefined : code
  }

  const contexts: Record<string, Record<string, ReferencePathNode>> = {}
  const choices: Record<string, Record<string, string>> = {}
  const addElement = ({ path, max, contentReference, type = [] }: PathElement): void => {
    const dot = path.lastIndexOf('.')
    if (dot === -1 || max === '0') return
    const context = path.slice(0, dot)
    contexts[context] ??= {}
    const members = contexts[context]
    const name = path.slice(dot + 1)
    if (contentReference !== undefined) {
      members[name] = contentReference.slice(contentReference.indexOf('#') + 1)
      return
    }
    const bare = name.endsWith('[x]') ? name.slice(0, -3) : undefined
    for (const one of type) {
      const node = toNode(one, path)
      if (node === undefined) continue
      const member = bare === undefined ? name : bare + upperFirst(one.code)
      members[member] = node
      if (bare === undefined) continue
      choices[context] ??= {}
      choices[context][member] = bare
    }
  }

  const extensions: Record<string, ExtensionTargets> = {}
  const addExtension = ({ url, snapshot }: PathStructure): void => {
    const elements = snapshot?.element ?? []
    const targetsOf = (element: PathElement): number | undefined => {
      const reference = element.type?.find(({ code }) => code === 'Reference')
      const found = reference === undefined ? 0 : toTargets(reference.targetProfile)
      return found === 0 ? undefined : found
    }
    const isValue = (path: string): boolean => path.endsWith('.value[x]') || path.endsWith('.valueReference')
    let own: number | undefined
    const nested: Record<string, number> = {}
    for (const element of elements) {
      const { path, id = '' } = element
      if (!isValue(path)) continue
      const found = targetsOf(element)
      if (found === undefined) continue
      if (path.split('.').length === 2) own = found
      const slice = /^Extension\.extension:[^.]+/.exec(id)?.[0]
      const name = elements.find((one) => one.id === `${slice}.url`)?.fixedUri
      if (path.split('.').length === 3 && name !== undefined) nested[name] = found
    }
    if (own === undefined && Object.keys(nested).length === 0) return
    extensions[url] = {
      ...(own === undefined ? {} : { targets: own }),
      ...(Object.keys(nested).length === 0 ? {} : { nested }),
    }
  }

  for (const structure of structures) {
    if (structure.derivation === 'constraint') {
      if (structure.type === 'Extension') addExtension(structure)
    } else for (const element of structure.snapshot?.element ?? []) addElement(element)
  }
  return { targets, contexts, choices, extensions }
}
