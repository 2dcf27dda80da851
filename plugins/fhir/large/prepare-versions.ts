/**
 * Large versions that are about to be shown: unpacked, put into the form that is asked for, and told apart by patient,
 * away from the main thread. What shows them after that finds it done. One after the other, which bounds the memory.
 */
import type { RequestContext } from '../../../kernel/index.ts'
import type { StoredVersion } from '../../storage/service.ts'
import type { FhirServer } from '../parts.ts'
import { isTransformed } from '../presentation/present.ts'
import type { Presentation } from '../presentation/presentation-parameters.ts'

const prepareOne = async (
  { large, run, patientSubjects, catalog, transaction }: FhirServer,
  ctx: RequestContext,
  version: StoredVersion,
  presentation: Presentation,
): Promise<void> => {
  // A transaction waits for no thread: it holds up whoever writes.
  if (transaction !== undefined) return version.decompress()
  const described = isTransformed(presentation) ? catalog.types.get(version.type) : undefined
  if (described === undefined) await version.decompress()
  else
    version.keepPresented(presentation, (await large.present(ctx, version, described, presentation)).toString('utf8'))
  if (run.onAudit === null || !patientSubjects.mayHave(version)) return
  const found = await large.patients(ctx, version)
  version.patients(ctx.ownUrl, () => found)
}

/** Undefined, at once, where none of them is large. */
export const prepareVersions = (
  server: FhirServer,
  ctx: RequestContext,
  versions: readonly StoredVersion[],
  presentation: Presentation,
): Promise<void> | undefined => {
  if (!versions.some(server.large.concernsVersion)) return undefined
  const prepare = async (): Promise<void> => {
    for (const version of versions)
      if (server.large.concernsVersion(version)) await prepareOne(server, ctx, version, presentation)
  }
  return prepare()
}
