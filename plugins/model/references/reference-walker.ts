/**
 * Finds the links of a resource by the definition of its type, at any depth, including contained resources and extensions,
 * also those of primitives. https://hl7.org/fhir/R4/references.html
 */
import type { ReferencePathNode, ReferencePaths } from './compile-reference-paths.ts'

/** A list of target types that allows every type. */
export const ANY_TYPE: readonly string[] = Object.freeze([])

type Json = Readonly<Record<string, unknown>>

/** The scope of local references: the resource that is not contained in another one, and the Bundle entry that holds it. */
export interface ContainerScope {
  readonly resource: Json
  /** Undefined outside of a Bundle. */
  readonly entry?: { readonly fullUrl: unknown; readonly bundle: Json } | undefined
}

/** A Reference and the target types that its element allows; an empty list allows all. */
export interface FoundReference {
  readonly value: Json
  readonly targets: readonly string[]
  readonly scope: ContainerScope
}

export type WalkNode = (
  | { readonly kind: 'context'; readonly context: WalkContext }
  | { readonly kind: 'reference'; readonly targets: readonly string[] }
  | { readonly kind: 'uri' | 'xhtml' | 'resource' }
) & {
  /** For a member of a choice, the name of the element: `value` for `valueReference`. */
  readonly element?: string | undefined
}

/** The members of a type, or of elements defined in place, that are links or contain links. */
export interface WalkContext {
  readonly name: string
  readonly members: ReadonlyMap<string, WalkNode>
}

export interface ReferenceWalker {
  /** The context of a type or a path; undefined if no installed package defines it. */
  context(name: string): WalkContext | undefined
  /** The context of the Extension `value`, found by its URL and by the context `inside` that holds it. */
  extension(value: Readonly<Record<string, unknown>>, inside: WalkContext): WalkContext
  /** The node of a JSON property; undefined if neither the property nor what is inside it can contain a Reference, a URI or a link of XHTML. */
  member(context: WalkContext, key: string): WalkNode | undefined
  /** Every Reference, in the order of the resource. */
  references(resource: Readonly<Record<string, unknown>>): readonly FoundReference[]
  /** FHIRPath of each Reference, in the order of `references`. Only error messages need it. */
  paths(resource: Readonly<Record<string, unknown>>): readonly string[]
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null

const EMPTY: WalkContext = { name: '', members: new Map() }

export const createReferenceWalker = ({ targets, contexts, choices, extensions }: ReferencePaths): ReferenceWalker => {
  const made = new Map<string, WalkContext>()
  const toNode = (stored: ReferencePathNode): WalkNode | undefined => {
    if (typeof stored === 'number') return { kind: 'reference', targets: targets[stored] ?? ANY_TYPE }
    if (stored === 'uri' || stored === 'xhtml') return { kind: stored }
    if (stored === '*') return { kind: 'resource' }
    const context = contextOf(stored)
    return context === undefined ? undefined : { kind: 'context', context }
  }
  /** Contexts are made at first use, because most servers use few types. */
  const contextOf = (name: string): WalkContext | undefined => {
    const found = made.get(name)
    if (found !== undefined) return found
    const stored = Object.hasOwn(contexts, name) ? contexts[name] : undefined
    if (stored === undefined) return undefined
    const members = new Map<string, WalkNode>()
    const context: WalkContext = { name, members }
    // Stored before its members are made, because types refer to each other and to themselves.
    made.set(name, context)
    for (const [key, one] of Object.entries(stored)) {
      const node = toNode(one)
      if (node !== undefined) members.set(key, { ...node, element: choices[name]?.[key] })
    }
    return context
  }

  const elementNode: WalkNode = { kind: 'context', context: contextOf('Element') ?? EMPTY }
  const extensionContext = contextOf('Extension') ?? EMPTY
  const referenceContext = contextOf('Reference') ?? EMPTY
  const restricted = new Map<string, WalkContext>()
  const restrict = (name: string, list: number | undefined): WalkContext => {
    const found = restricted.get(name)
    if (found !== undefined) return found
    const members = new Map(extensionContext.members)
    if (list !== undefined)
      members.set('valueReference', { kind: 'reference', targets: targets[list] ?? ANY_TYPE, element: 'value' })
    const context: WalkContext = { name, members }
    restricted.set(name, context)
    return context
  }

  const extension: ReferenceWalker['extension'] = ({ url }, inside) => {
    if (typeof url !== 'string') return extensionContext
    const own = Object.hasOwn(extensions, url) ? extensions[url] : undefined
    if (own !== undefined) return restrict(url, own.targets)
    const outer = Object.hasOwn(extensions, inside.name) ? extensions[inside.name]?.nested : undefined
    const nested = outer !== undefined && Object.hasOwn(outer, url) ? outer[url] : undefined
    return nested === undefined ? extensionContext : restrict(`${inside.name}#${url}`, nested)
  }

  const member: ReferenceWalker['member'] = ({ members }, key) =>
    members.get(key) ?? (key.charCodeAt(0) === 95 /* _ */ ? elementNode : undefined)

  type Visit = (value: Json, allowed: readonly string[], scope: ContainerScope, path: string) => void

  /** `path` stays empty unless `paths` runs the walk. */
  const walkValue = (
    value: unknown,
    node: WalkNode,
    inside: WalkContext,
    scope: ContainerScope,
    path: string,
    visit: Visit,
  ): void => {
    if (!isObject(value)) return
    if (node.kind === 'reference') {
      visit(value, node.targets, scope, path)
      walkObject(value, referenceContext, scope, path, visit)
    } else if (node.kind === 'context') {
      const context = node.context === extensionContext ? extension(value, inside) : node.context
      walkObject(value, context, scope, path, visit)
    } else if (node.kind === 'resource') {
      const context = typeof value.resourceType === 'string' ? contextOf(value.resourceType) : undefined
      if (context !== undefined) walkObject(value, context, scope, path, visit)
    }
  }
  /** A contained resource has the scope of its container; a resource in a Bundle or in Parameters has a scope of its own. */
  const scopeOf = (child: unknown, key: string, holder: Json, scope: ContainerScope): ContainerScope => {
    if (key === 'contained' || !isObject(child)) return scope
    const { resource } = scope
    const isEntry = key === 'resource' && resource.resourceType === 'Bundle' && holder !== resource
    return { resource: child, entry: isEntry ? { fullUrl: holder.fullUrl, bundle: resource } : undefined }
  }
  const walkObject = (value: Json, context: WalkContext, scope: ContainerScope, path: string, visit: Visit): void => {
    for (const key in value) {
      const node = member(context, key)
      if (node === undefined) continue
      const child = value[key]
      const at = path === '' ? '' : `${path}.${node.element ?? (key.startsWith('_') ? key.slice(1) : key)}`
      if (Array.isArray(child))
        for (let n = 0; n < child.length; n += 1)
          walkValue(child[n], node, context, scope, at === '' ? '' : `${at}[${n}]`, visit)
      else if (node.kind === 'resource') walkValue(child, node, context, scopeOf(child, key, value, scope), at, visit)
      else walkValue(child, node, context, scope, at, visit)
    }
  }
  const walk = (resource: Json, path: string, visit: Visit): void => {
    const context = typeof resource.resourceType === 'string' ? contextOf(resource.resourceType) : undefined
    if (context !== undefined) walkObject(resource, context, { resource }, path, visit)
  }

  return {
    context: contextOf,
    extension,
    member,
    references(resource) {
      const found: FoundReference[] = []
      walk(resource, '', (value, targets, scope) => void found.push({ value, targets, scope }))
      return found
    },
    paths(resource) {
      const found: string[] = []
      walk(resource, String(resource.resourceType), (_value, _targets, _scope, path) => void found.push(path))
      return found
    },
  }
}
