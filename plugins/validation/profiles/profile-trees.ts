/** The trees of profiles, each of which is made once. */
import { Pending, type StructureDefinition } from '../../model/service.ts'
import type { FindDefinition } from '../rules/value-set.ts'
import { type ProfileTree, treeOf } from './tree.ts'

const CORE_TYPE = /^http:\/\/hl7\.org\/fhir\/StructureDefinition\/([A-Z][A-Za-z]*)$/

const bare = (canonical: string): string => canonical.replace(/\|.*$/, '')

export interface ProfileTrees {
  /**
   * The tree of a profile; undefined if it is not installed, or is derived from itself. The tree of a type that is not a profile
   * has no rules, because the structure check has applied them. Throws Pending.
   */
  tree(canonical: string): ProfileTree | undefined
  /** Name of the type that the definition with this URL constrains or defines. Throws Pending. */
  typeOfProfile(canonical: string): string | undefined
}

export const createProfileTrees = (find: FindDefinition): ProfileTrees => {
  const trees = new Map<string, ProfileTree>()

  const definition = (canonical: string): StructureDefinition | undefined => {
    const found = find('StructureDefinition', canonical)
    if (found === null) throw new Pending()
    return found as StructureDefinition | undefined
  }

  /** `above`: the profiles derived from this one. */
  const tree = (canonical: string, above: readonly string[] = []): ProfileTree | undefined => {
    const known = trees.get(canonical)
    if (known !== undefined) return known
    const profile = definition(canonical)
    if (profile === undefined || above.includes(profile.url)) return undefined
    const nothing = { ...profile, snapshot: undefined, differential: undefined, baseDefinition: undefined }
    const made =
      profile.derivation === 'constraint'
        ? treeOf(profile, (url) => tree(url, [...above, profile.url]))!
        : { ...treeOf(nothing as unknown as StructureDefinition, () => undefined)!, gaps: [] }
    trees.set(canonical, made)
    return made
  }

  const typeOfProfile = (canonical: string): string | undefined =>
    CORE_TYPE.exec(bare(canonical))?.[1] ?? tree(canonical)?.type

  return { tree: (canonical) => tree(canonical), typeOfProfile }
}
