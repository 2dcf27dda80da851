/**
 * A change made from the current version: a patch, or an operation on labels. It is computed and checked before the
 * transaction. When another write comes first, it is computed again inside the transaction, so that no change is lost.
 */
import { type Interaction, type Issue, isServerError, type RequestContext } from '../../../kernel/index.ts'
import type { TypeCatalog } from '../../model/service.ts'
import type { Change, Precondition, StoredVersion, WriteGuard } from '../../storage/service.ts'
import { Contended, checkPrecondition, Deleted, findingsOf, NotFound } from '../../storage/service.ts'
import type { AuditDetails } from '../audit-details.ts'
import type { Relink } from '../bundle/patch-links.ts'
import type { LargeBodies } from '../large/large-bodies.ts'
import type { PatchForm } from '../patch/patch.ts'
import type { View } from '../view.ts'
import type { CheckContent } from './check-content.ts'
import { type IncomingResource, readIncomingResource } from './incoming-resource.ts'

export interface SentPatch {
  readonly form: PatchForm
  /** The patch as it was sent; it must be strict JSON. */
  readonly bytes: Uint8Array
  /** In a transaction: replaces links to other entries in the patched resource. */
  readonly relink?: Relink | undefined
}

export interface Modification {
  readonly request: RequestContext
  readonly interaction: Interaction
  readonly type: string
  readonly id: string
  readonly guard: WriteGuard
  readonly precondition?: Precondition | undefined
  /** Collects warnings. */
  readonly warnings?: Issue[] | undefined
  /** The patch that `modify` applies, for a thread that applies it itself. */
  readonly patch?: SentPatch | undefined
  /** Makes the JSON of the next version from that of the current one; undefined changes nothing. Throws 4xx. */
  modify(json: string, current: StoredVersion): string | undefined
}

/** Throws 404, 410, 412, and what `modify` and the checks throw. */
export type ToModification = (view: Pick<View, 'reads' | 'run'>, revision: Modification) => Promise<Change>

export interface ModificationParts {
  readonly catalog: Pick<TypeCatalog, 'types'>
  readonly large: Pick<LargeBodies, 'concerns' | 'concernsVersion' | 'patch' | 'write' | 'remove'>
  readonly checkContent: CheckContent
  readonly audit: Pick<AuditDetails, 'patients'>
}

export const createToModification =
  ({ catalog, large, checkContent, audit }: ModificationParts): ToModification =>
  async ({ reads, run }, revision) => {
    const { request, interaction, type, id, guard, precondition, warnings } = revision
    const make = (current: StoredVersion): IncomingResource | undefined => {
      const json = revision.modify(current.text, current)
      return json === undefined ? undefined : readIncomingResource(catalog, Buffer.from(json), type, id)
    }
    let patients: readonly string[] | undefined
    /** Like `make`, in a thread: when the current version, the patch or the result is large. */
    const makeLarge = async (current: StoredVersion): Promise<IncomingResource | undefined> => {
      const place = { type, id, before: current, isGuarded: guard.restricts }
      const { patch } = revision
      if (patch !== undefined && (large.concernsVersion(current) || large.concerns(patch.bytes))) {
        const sent = { form: patch.form, patch: patch.bytes, links: patch.relink?.source() }
        const body = await large.patch(request, place, sent)
        if (body.bytes !== undefined) return readIncomingResource(catalog, body, type, id)
        patients = body.patients
        return undefined
      }
      await current.decompress()
      const json = revision.modify(current.text, current)
      if (json === undefined) return undefined
      const body = { text: json }
      const isLarge = large.concernsVersion(current) || large.concerns(body)
      return readIncomingResource(
        catalog,
        isLarge ? await large.write(request, place, body) : Buffer.from(json),
        type,
        id,
      )
    }
    const stored = await reads.read(type, id)
    // The same checks as in the transaction, in the same order: access to the target, preconditions, existence.
    const found =
      guard.restricts && stored !== undefined && large.concernsVersion(stored)
        ? await large.remove(request, { type, id, before: stored, isGuarded: true })
        : undefined
    const allowed = guard.target(id, stored, reads, found)
    if (allowed instanceof Promise) await allowed
    const examine = async (): Promise<{ base: StoredVersion; content: IncomingResource | undefined }> => {
      checkPrecondition({ type, id, precondition }, stored)
      if (stored === undefined) throw NotFound(type, id)
      if (stored.deleted) throw Deleted(type, id)
      const content = await makeLarge(stored)
      if (content !== undefined) await checkContent(request, interaction, content, { guard, id, warnings })
      return { base: stored, content }
    }
    const { base, content } = await examine().catch(async (error) => {
      if (run.onAudit === null || stored === undefined || stored.deleted || !isServerError(error)) throw error
      // The patients of a large version are found in a thread.
      const known = large.concernsVersion(stored)
        ? (found ?? (await large.remove(request, { type, id, before: stored, isGuarded: false }))).patients
        : undefined
      throw error.with({ patients: (ownUrl) => known ?? audit.patients([stored], ownUrl) })
    })
    const isLarge = findingsOf(content?.resource) !== undefined
    return {
      kind: 'modify',
      interaction,
      type,
      id,
      guard,
      precondition,
      base,
      content,
      findings: content === undefined ? found : undefined,
      patients,
      rebase(current) {
        if (isLarge || large.concernsVersion(current)) throw Contended()
        const again = make(current)
        if (warnings !== undefined) warnings.length = 0
        const examined =
          again === undefined ? undefined : checkContent(request, interaction, again, { guard, id, warnings })
        if (examined !== undefined) {
          // An asynchronous check cannot be awaited inside the transaction, so the change is retried and the result
          // discarded.
          examined.catch(() => undefined)
          throw Contended()
        }
        return again
      },
    }
  }
