/**
 * Applies a ruling to many versions, such as a page of a history, with as many statements as there are types and groups
 * of other versions that decide. What is shown is the same as where `allows` is asked about each.
 */
import { createPause, type Right, type Ruling } from '../../../kernel/index.ts'
import type { StoredVersion, VersionStore } from '../../storage/service.ts'
import type { AccessEvaluator } from './access-evaluator-interface.ts'
import type { AccessContext, ContentRights } from './content-rights.ts'
import { extent } from './extent.ts'
import type { SecurityContext, SecurityContexts } from './security-context.ts'

export interface AllowedVersionsParts {
  readonly store: Pick<VersionStore, 'readSeveral' | 'readSuperseded'>
  /** Decides by the content of the versions alone. */
  readonly allowedItself: ContentRights['allowed']
  readonly contextsFor: (request: AccessContext, ruling: Ruling, version: StoredVersion) => SecurityContexts
}

const pathOf = ({ type, id }: SecurityContext): string => `${type}/${id}`

/** See `AccessEvaluator.allowed`. */
export const createAllowedVersions = ({
  store,
  allowedItself,
  contextsFor,
}: AllowedVersionsParts): AccessEvaluator['allowed'] => {
  /** Paths of the security contexts that the caller may read. Their current versions decide. */
  const readableOf = async (
    request: AccessContext,
    ruling: Ruling,
    contexts: readonly SecurityContext[],
  ): Promise<ReadonlySet<string>> => {
    const readable = new Set<string>()
    for await (const group of store.readSeveral(contexts)) {
      const current = group.filter(({ deleted }) => !deleted)
      for (const context of await allowedItself(request, ruling, 'r', current)) readable.add(pathOf(context))
    }
    return readable
  }

  /** Those that the right applies to and whose security contexts may be read. None of the versions is a deletion. */
  const allowedHeld = async (
    request: AccessContext,
    ruling: Ruling,
    right: Right,
    versions: readonly StoredVersion[],
  ): Promise<ReadonlySet<StoredVersion>> => {
    const found = new Set(await allowedItself(request, ruling, right, versions))
    const pause = createPause()
    const bound = new Map<StoredVersion, readonly string[]>()
    const wanted = new Map<string, SecurityContext>()
    for (const version of found) {
      const contexts = contextsFor(request, ruling, version)
      const known = contexts.filter((one) => one !== undefined)
      // One that cannot be decided hides the version.
      if (known.length < contexts.length) found.delete(version)
      else if (known.length > 0) {
        bound.set(version, known.map(pathOf))
        for (const context of known) wanted.set(pathOf(context), context)
      }
      const pausing = pause()
      if (pausing !== undefined) await pausing
    }
    if (wanted.size === 0) return found
    const readable = await readableOf(request, ruling, [...wanted.values()])
    for (const [version, paths] of bound) if (!paths.every((path) => readable.has(path))) found.delete(version)
    return found
  }

  return async (request, ruling, right, versions) => {
    const found = new Set<StoredVersion>()
    const current: StoredVersion[] = []
    const deletions = new Map<string, StoredVersion>()
    for (const version of versions) {
      const granted = extent(ruling, version.type, right)
      if (granted === 'all') found.add(version)
      if (granted !== 'some') continue
      if (version.deleted) deletions.set(`${version.rid}/${version.version - 1}`, version)
      else current.push(version)
    }
    for (const version of await allowedHeld(request, ruling, right, current)) found.add(version)
    for await (const group of store.readSuperseded([...deletions.values()])) {
      const before = group.filter(({ deleted }) => !deleted)
      for (const { rid, version } of await allowedHeld(request, ruling, right, before)) {
        const deletion = deletions.get(`${rid}/${version}`)
        if (deletion !== undefined) found.add(deletion)
      }
    }
    return found
  }
}
