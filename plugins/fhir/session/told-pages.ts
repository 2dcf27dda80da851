/** Reads that give much, page by page: ruled on for each page, told for each page or once with the number of all. */
import type { FactDetails, Interaction, Ruling } from '../../../kernel/index.ts'
import type { StoredVersion } from '../../storage/service.ts'
import type { AuditDetails } from '../audit-details.ts'
import { dispatchRead, emitRefused } from '../dispatch.ts'
import type { Opened, Seat } from './seat.ts'

export interface VersionPage {
  /** Emptied as they are given, so that a page is not in memory as a whole with its texts. */
  readonly versions: StoredVersion[]
  readonly isLast: boolean
}

/** `opened` reads as the seat does, `ruling` is that of this page. */
export type ReadPage = (opened: Opened, ruling: Ruling) => Promise<VersionPage>

/** The pages that `readPage` gives one after the other. `query` is what the trail is told was asked. */
export async function* toldPages(
  audit: Pick<AuditDetails, 'patients'>,
  seat: Seat,
  interaction: Interaction,
  query: string,
  readPage: ReadPage,
): AsyncGenerator<StoredVersion> {
  let count = 0
  let failed: { readonly error: unknown } | undefined
  const page = ({ view, request }: Opened): Promise<VersionPage> => {
    const run = seat.streams === 'once' ? { ...view.run, onAudit: null } : view.run
    const done = dispatchRead(run, request, interaction, async (ruling) => {
      const result = await readPage({ view, request }, ruling)
      const shown = [...result.versions]
      const details: FactDetails = { query: () => query, patients: () => audit.patients(shown, request.ownUrl) }
      seat.shown?.(shown)
      return { result, status: 200, details }
    })
    return Promise.resolve(done)
  }
  try {
    for (;;) {
      const opened = seat.open()
      opened.request.signal.throwIfAborted()
      const { versions, isLast } = await page(opened)
      for (const [at, version] of versions.entries()) {
        delete versions[at]
        count += 1
        yield version
      }
      if (isLast) return
    }
  } catch (error) {
    failed = { error }
    throw error
  } finally {
    // Also where whoever reads it ends it early.
    if (seat.streams === 'once') {
      const { view, request } = seat.open()
      if (failed !== undefined) await emitRefused(view.run, request, interaction, failed.error)
      else await view.run.onAudit?.({ request, interaction, status: 200, details: { query: () => query, count } })
    }
  }
}
