/**
 * Prepares large versions that are about to be shown, off the main thread: decompresses them, puts them into the
 * requested form, and finds their patients. The code that shows them finds the results stored in the version. One
 * version is prepared at a time, which bounds the memory.
 */
import type { RequestContext } from '../../../kernel/index.ts'
import type { TypeCatalog } from '../../model/service.ts'
import type { PatientSubjects } from '../../search/service.ts'
import type { StoredVersion } from '../../storage/service.ts'
import { isTransformed } from '../presentation/present.ts'
import type { Presentation } from '../presentation/presentation-parameters.ts'
import type { View } from '../view.ts'
import type { LargeBodies } from './large-bodies.ts'

/** Returns undefined, synchronously, when none of the versions is large. */
export type PrepareVersions = (
  view: Pick<View, 'run' | 'transaction'>,
  ctx: RequestContext,
  versions: readonly StoredVersion[],
  presentation: Presentation,
) => Promise<void> | undefined

export interface PrepareVersionsParts {
  readonly large: Pick<LargeBodies, 'concernsVersion' | 'present' | 'patients'>
  readonly catalog: Pick<TypeCatalog, 'types'>
  readonly patientSubjects: Pick<PatientSubjects, 'mayHave'>
}

export const createPrepareVersions = ({ large, catalog, patientSubjects }: PrepareVersionsParts): PrepareVersions => {
  const prepareOne = async (
    { run, transaction }: Pick<View, 'run' | 'transaction'>,
    ctx: RequestContext,
    version: StoredVersion,
    presentation: Presentation,
  ): Promise<void> => {
    // A transaction must not wait for a thread, because other writers wait for the transaction.
    if (transaction !== undefined) return version.decompress()
    const described = isTransformed(presentation) ? catalog.types.get(version.type) : undefined
    if (described === undefined) await version.decompress()
    else
      version.keepPresented(presentation, (await large.present(ctx, version, described, presentation)).toString('utf8'))
    if (run.onAudit === null || !patientSubjects.mayHave(version)) return
    const found = await large.patients(ctx, version)
    version.patients(ctx.ownUrl, () => found)
  }
  return (view, ctx, versions, presentation) => {
    if (!versions.some(large.concernsVersion)) return undefined
    const prepare = async (): Promise<void> => {
      for (const version of versions)
        if (large.concernsVersion(version)) await prepareOne(view, ctx, version, presentation)
    }
    return prepare()
  }
}
