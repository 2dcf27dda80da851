/**
 * Prepares a write that involves a large resource before its transaction: a thread parses and indexes the body, and
 * makes the index rows of the version that is replaced. Small writes are returned unchanged, synchronously.
 */
import type { RequestContext } from '../../../kernel/index.ts'
import type { MaybePromise } from '../../database/service.ts'
import type { Change, WriteGuard } from '../../storage/service.ts'
import { findingsOf } from '../../storage/service.ts'
import type { View } from '../view.ts'
import { type LargeBodies, UnreadableBody } from './large-bodies.ts'

interface Address {
  readonly type: string
  /** Undefined for a create, and for a resource that a condition finds. */
  readonly id: string | undefined
  /** The guard of the change; undefined when access is not restricted. */
  readonly guard: Pick<WriteGuard, 'restricts'> | undefined
}

type Reads = Pick<View, 'reads'>

export interface PrepareWrite {
  /** Prepares a body that will be written. */
  body(view: Reads, ctx: RequestContext, address: Address, body: unknown): MaybePromise<unknown>
  /** Adds the findings about a large version that the change replaces or removes. */
  change(view: Reads, ctx: RequestContext, change: Change): MaybePromise<Change>
  /** Prepares one change at a time, which bounds the memory. */
  changes(view: Reads, ctx: RequestContext, changes: readonly Change[]): Promise<readonly Change[]>
}

export const createPrepareWrite = (
  large: Pick<LargeBodies, 'concerns' | 'isNoted' | 'write' | 'remove'>,
): PrepareWrite => {
  const prepareChange: PrepareWrite['change'] = ({ reads }, ctx, change) => {
    const { type, id, kind } = change
    if (kind === 'create' || !large.isNoted(type, id)) return change
    const content = kind === 'modify' ? change.content : kind === 'update' ? change : undefined
    if (findingsOf(content?.resource) !== undefined) return change
    const complete = async (): Promise<Change> => {
      const before = await reads.read(type, id)
      if (before === undefined || before.deleted) return change
      const place = { type, id, before, isGuarded: change.guard.restricts }
      if (kind === 'delete') return { ...change, findings: await large.remove(ctx, place) }
      if (content === undefined) return change
      const body = await large.write(ctx, place, content.sent)
      return 'resource' in body ? { ...change, findings: findingsOf(body.resource) } : change
    }
    return complete()
  }
  return {
    body({ reads }, ctx, { type, id, guard }, body) {
      if (body instanceof UnreadableBody) return body
      const isLarge = large.concerns(body) || (id !== undefined && body !== undefined && large.isNoted(type, id))
      if (!isLarge) return body
      const write = async (): Promise<unknown> => {
        const before = id === undefined ? undefined : await reads.read(type, id)
        return large.write(ctx, { type, id: id ?? '', before, isGuarded: guard?.restricts === true }, body)
      }
      return write()
    },
    change: prepareChange,
    async changes(view, ctx, changes) {
      const ready: Change[] = []
      for (const one of changes) ready.push(await prepareChange(view, ctx, one))
      return ready
    },
  }
}
