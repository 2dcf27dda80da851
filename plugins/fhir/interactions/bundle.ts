/** A batch or transaction sent to the base. https://hl7.org/fhir/R4/http.html#transaction */
import type { PerformBundle } from '../bundle/batch.ts'
import { type BundleRequest, readBundleRequest, readLargeEnvelope } from '../bundle/bundle-request.ts'
import { authorize, emitRefused } from '../dispatch.ts'
import { ConditionHeader } from '../errors.ts'
import { checkAccept } from '../http/media.ts'
import type { LargeBodies } from '../large/large-bodies.ts'
import { indentedBundle } from '../presentation/indented-bundle.ts'
import { readPrefer, readQueryParameters } from '../presentation/presentation-parameters.ts'
import type { View } from '../view.ts'
import type { Answer } from './answer.ts'
import type { InteractionRequest } from './request.ts'

/**
 * The preferences apply to each entry. Without a preference for `return`, `return=minimal` is added, so that the
 * entries do not repeat resources that the client has just sent.
 */
const toEntryHeaders = ({ headers }: InteractionRequest): Record<string, string> => {
  const { prefer = '' } = headers
  const given = Array.isArray(prefer) ? prefer.join(', ') : prefer
  return { prefer: /\breturn\s*=/i.test(given) ? given : `${given}${given === '' ? '' : ', '}return=minimal` }
}

/** Throws 400 for a conditional header of the Bundle itself, because it would apply to none of its entries. */
const checkHeaders = ({ headers }: InteractionRequest): void => {
  for (const name of ['If-Match', 'If-None-Match', 'If-None-Exist'])
    if (headers[name.toLowerCase()] !== undefined)
      throw ConditionHeader(name, 'a Bundle', 'Send it with an entry, as ifMatch, ifNoneMatch or ifNoneExist')
}

export type Bundle = (view: View, request: InteractionRequest) => Promise<Answer>

export interface BundleParts {
  readonly large: Pick<LargeBodies, 'concerns' | 'read'>
  readonly batch: PerformBundle
  readonly transaction: PerformBundle
}

export const createBundle =
  ({ large, batch, transaction }: BundleParts): Bundle =>
  async (view, request) => {
    const { ctx, headers, url, body } = request
    const { run } = view
    const { presentation } = readQueryParameters(url, [], readPrefer(headers.prefer).lenient)
    checkAccept(headers.accept, presentation.format)
    let kind: BundleRequest['kind'] = 'batch'
    try {
      // Set before the entries are read, so that a refusal of all entries is audited as that of a batch or of a
      // transaction.
      const known = (one: BundleRequest['kind']): void => {
        kind = one
      }
      const envelope = large.concerns(body)
        ? await readLargeEnvelope(await large.read(ctx, body), ctx, known)
        : readBundleRequest(body, known)
      checkHeaders(request)
      // Only a refusal of the Bundle takes effect here. Restrictions are evaluated for each entry.
      await authorize(run, ctx, { kind })
      const perform = kind === 'batch' ? batch : transaction
      const text = await perform(view, ctx, envelope, toEntryHeaders(request))
      // The fact of a transaction is emitted inside the transaction.
      if (kind === 'batch') await run.onAudit?.({ request: ctx, interaction: { kind }, status: 200 })
      return { status: 200, shows: 'text', text: await indentedBundle(presentation, text) }
    } catch (error) {
      await emitRefused(run, ctx, { kind }, error)
      throw error
    }
  }
