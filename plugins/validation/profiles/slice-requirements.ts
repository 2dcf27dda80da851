/** What a slice requires at the path of a discriminator. */
import type { SlicingStep } from './discriminator-path.ts'
import type { ProfileNode, ProfileTree } from './tree.ts'

/** A requirement of a slice at a path: a node of its tree, or the part of a fixed or pattern value above that has this path. */
export type Requirement = { readonly node: ProfileNode } | { readonly pattern: unknown; readonly exact: boolean }

const bare = (canonical: string): string => canonical.replace(/\|.*$/, '')

const extensionUrl = (slice: ProfileNode): string | undefined => {
  const profile = slice.types?.[0]?.profile?.[0]
  if (profile !== undefined) return bare(profile)
  const fixed = slice.children.find(({ name }) => name === 'url')
  return (fixed?.fixed ?? fixed?.pattern) as string | undefined
}

/** `tree` returns the tree of a profile; undefined if it is not installed. */
export const createSliceRequirements = (tree: (canonical: string) => ProfileTree | undefined) => {
  /** The children with this name of a node itself, and of the profiles on its types. */
  const children = (node: ProfileNode, name: string): ProfileNode[] => {
    const own = node.children.filter((child) => child.name === name)
    const profiles = node.types?.flatMap(({ profile }) => profile ?? []) ?? []
    const theirs = profiles.flatMap((one) => tree(one)?.root.children.filter((child) => child.name === name) ?? [])
    // A slice with a minimum above 0 must be present, so some item of the element meets its requirements: they count too.
    return [...own, ...theirs].flatMap((child) => [child, ...child.slices.filter(({ min }) => (min ?? 0) > 0)])
  }

  const below = (said: readonly Requirement[], step: SlicingStep): Requirement[] =>
    said.flatMap((one): Requirement[] => {
      if ('pattern' in one) {
        if (step.kind !== 'child' || typeof one.pattern !== 'object' || one.pattern === null) return []
        const inner = (one.pattern as Record<string, unknown>)[step.name]
        const all = inner === undefined ? [] : Array.isArray(inner) ? inner : [inner]
        return all.map((pattern) => ({ pattern, exact: one.exact }))
      }
      const { node } = one
      switch (step.kind) {
        case 'resolve':
        case 'type':
          return [one]
        case 'extension':
          return children(node, 'extension').flatMap(({ slices }) =>
            slices.filter((slice) => extensionUrl(slice) === step.url).map((slice) => ({ node: slice })),
          )
        case 'child': {
          const nodes: Requirement[] = children(node, step.name).map((child) => ({ node: child }))
          for (const [value, exact] of [
            [node.fixed, true],
            [node.pattern, false],
          ] as const) {
            if (value !== undefined) nodes.push(...below([{ pattern: value, exact }], step))
          }
          // The URL of an extension is that of its profile.
          const url = step.name === 'url' ? extensionUrl(node) : undefined
          if (url !== undefined) nodes.push({ pattern: url, exact: true })
          return nodes
        }
        default:
          return []
      }
    })

  /** The requirements of a slice at the end of a path. */
  return (steps: readonly SlicingStep[], slice: ProfileNode): readonly Requirement[] =>
    steps.reduce<Requirement[]>(below, [{ node: slice }])
}
