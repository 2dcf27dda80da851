/**
 * Reads many versions page by page. Each page is authorized. A fact is emitted for each page, or one for all pages with
 * the number of versions.
 */
import type { Interaction, Ruling } from '../../../kernel/index.ts'
import type { StoredVersion } from '../../storage/service.ts'
import { type AuditDetails, detailsOfPage } from '../audit-details.ts'
import { dispatchRead, emitRefused } from '../dispatch.ts'
import type { Opened, Seat } from './seat.ts'

export interface VersionPage {
  /** Each version is removed from the list when it is yielded, so that the texts of a page can be freed. */
  readonly versions: StoredVersion[]
  readonly isLast: boolean
}

/** `opened` is the seat's view and request, `ruling` the ruling for this page. */
export type ReadPage = (opened: Opened, ruling: Ruling) => Promise<VersionPage>

/** Yields the versions of all pages. `query` is the query that the facts name. */
export async function* auditedPages(
  audit: Pick<AuditDetails, 'patientsLater'>,
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
      seat.shown?.(shown)
      const patients = audit.patientsLater(shown, request.ownUrl)
      return { result, status: 200, details: detailsOfPage(run, patients, query) }
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
    // Also runs when the consumer ends the iteration early.
    if (seat.streams === 'once') {
      const { view, request } = seat.open()
      if (failed !== undefined) await emitRefused(view.run, request, interaction, failed.error)
      else await view.run.onAudit?.({ request, interaction, status: 200, details: { query: () => query, count } })
    }
  }
}
