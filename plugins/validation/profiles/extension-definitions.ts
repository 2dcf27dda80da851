/** The definitions of extensions, each of which is read once. */
import { Pending, type StructureDefinition } from '../../model/service.ts'
import type { FindDefinition } from '../rules/value-set.ts'
import type { ExtensionContext } from './extension-context.ts'
import type { ProfileTree } from './tree.ts'

interface ExtensionDefinition {
  readonly tree: ProfileTree
  readonly contexts: readonly ExtensionContext[]
  readonly isModifier: boolean
  /** Maximum number of this extension on one element. */
  readonly max: number
}

export interface ExtensionDefinitions {
  /** `tree` is undefined if no extension with this URL is installed. Null: not loaded yet. Throws Pending. */
  definitionOf(url: string): ExtensionDefinition | { readonly tree: undefined } | null
  /** Whether the definition of at least one of these extensions is installed; undefined if some are not loaded yet. */
  anyKnown(urls: ReadonlySet<string>): boolean | undefined
}

/** `tree` returns the tree of a profile. It throws Pending. */
export const createExtensionDefinitions = (
  find: FindDefinition,
  tree: (canonical: string) => ProfileTree | undefined,
): ExtensionDefinitions => {
  /** Definitions by URL. Null: installed, but not the definition of an extension. */
  const known = new Map<string, ExtensionDefinition | null>()

  const definitionOf = (url: string): ExtensionDefinition | { readonly tree: undefined } | null => {
    const before = known.get(url)
    if (before !== undefined) return before ?? { tree: undefined }
    const found = find('StructureDefinition', url) as StructureDefinition | null | undefined
    if (found === null) return null
    if (found === undefined) return { tree: undefined }
    const made = found.type === 'Extension' && found.derivation === 'constraint' ? tree(url) : undefined
    const root = (found.snapshot ?? found.differential)?.element.find(({ path }) => path === 'Extension')
    known.set(
      url,
      made === undefined
        ? null
        : {
            tree: made,
            contexts: found.context ?? [],
            isModifier: root?.isModifier === true,
            max: root?.max === undefined || root.max === '*' ? Infinity : Number(root.max),
          },
    )
    return known.get(url) ?? { tree: undefined }
  }

  return {
    definitionOf,
    anyKnown(urls) {
      let any = false
      let isPending = false
      // The loop does not stop early, so that all missing definitions are recorded and loaded together.
      for (const url of urls) {
        try {
          const definition = definitionOf(url)
          if (definition === null) isPending = true
          else if (definition.tree !== undefined) any = true
        } catch (error) {
          if (!(error instanceof Pending)) throw error
          isPending = true
        }
      }
      return isPending ? undefined : any
    },
  }
}
