/**
 * What a write of something large needs before its transaction: the body read and indexed by a thread, and what the
 * index holds of the version that is replaced. Small writes pass, at once.
 */
import type { RequestContext } from '../../../kernel/index.ts'
import type { MaybePromise } from '../../database/service.ts'
import type { Change, WriteGuard } from '../../storage/service.ts'
import { findingsOf } from '../../storage/service.ts'
import type { FhirServer } from '../parts.ts'

interface Address {
  readonly type: string
  /** Undefined for what is created, or found by a condition. */
  readonly id: string | undefined
  /** Of the change; undefined where nothing is restricted. */
  readonly guard: Pick<WriteGuard, 'restricts'> | undefined
}

/** A body to be written, small ones as they are. */
export const prepareBody = (
  server: FhirServer,
  ctx: RequestContext,
  { type, id, guard }: Address,
  body: unknown,
): MaybePromise<unknown> => {
  const { large, store } = server
  const isLarge = large.concerns(body) || (id !== undefined && body !== undefined && large.isNoted(type, id))
  if (!isLarge) return body
  const write = async (): Promise<unknown> => {
    const before = id === undefined ? undefined : await store.read(type, id)
    return large.write(ctx, { type, id: id ?? '', before, isGuarded: guard?.restricts === true }, body)
  }
  return write()
}

/** A change with what is known of a large version that it replaces or removes. */
export const prepareChange = (server: FhirServer, ctx: RequestContext, change: Change): MaybePromise<Change> => {
  const { large, store } = server
  const { type, id, kind } = change
  if (kind === 'create' || !large.isNoted(type, id)) return change
  const content = kind === 'modify' ? change.content : kind === 'update' ? change : undefined
  if (findingsOf(content?.resource) !== undefined) return change
  const complete = async (): Promise<Change> => {
    const before = await store.read(type, id)
    if (before === undefined || before.deleted) return change
    const place = { type, id, before, isGuarded: change.guard.restricts }
    if (kind === 'delete') return { ...change, findings: await large.remove(ctx, place) }
    if (content === undefined) return change
    const body = await large.write(ctx, place, content.sent)
    return 'resource' in body ? { ...change, findings: findingsOf(body.resource) } : change
  }
  return complete()
}

/** One after the other, which bounds the memory. */
export const prepareChanges = async (
  server: FhirServer,
  ctx: RequestContext,
  changes: readonly Change[],
): Promise<readonly Change[]> => {
  const ready: Change[] = []
  for (const one of changes) ready.push(await prepareChange(server, ctx, one))
  return ready
}
