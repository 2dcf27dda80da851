/** The steps of the changes of a session before their transaction, as those of a request: ruled on, located, prepared. */
import type { IncomingHttpHeaders } from 'node:http'
import type { Interaction, RequestContext, Ruling } from '../../../kernel/index.ts'
import { chain, type MaybePromise } from '../../database/service.ts'
import { lockKeyOf, type WriteGuard } from '../../storage/service.ts'
import { authorize, emitRefused } from '../dispatch.ts'
import {
  type AddressChange,
  type AddressedChange,
  type ChangeTarget,
  interactionAbout,
  isContention,
  type PreparedChange,
} from '../interactions/change.ts'
import type { GuardChange } from '../interactions/guard-change.ts'
import type { InteractionRequest } from '../interactions/request.ts'
import type { PrepareWrite } from '../large/prepare-write.ts'
import { toETag } from '../response/etag.ts'
import type { View } from '../view.ts'
import { addressRevision, type RevisionParts } from './revise.ts'
import type { Opened } from './seat.ts'
import type { SessionChange } from './session.ts'

export interface ChangeStepParts extends RevisionParts {
  readonly guardChange: GuardChange
  readonly prepareWrite: PrepareWrite
  readonly changes: {
    readonly create: AddressChange
    readonly update: AddressChange
    /** Deletes one match only, also where the settings let clients delete several. */
    readonly deleteOne: AddressChange
  }
}

const METHODS = { create: 'POST', update: 'PUT', modify: 'PATCH', delete: 'DELETE' } as const

export interface Ruled {
  readonly at: number
  readonly wanted: SessionChange
  readonly addressed: AddressedChange
  readonly ruling: Ruling
  readonly guard: WriteGuard
}
export interface Located extends Ruled {
  readonly target: ChangeTarget
  readonly body: unknown
  /** `Type/id`, by which locks are ordered. */
  readonly key: string
}
export interface Ready extends Located {
  readonly prepared: PreparedChange
}

/** The request that would make the same change over HTTP. */
const toAsked = (ctx: RequestContext, wanted: SessionChange, gone: ReadonlySet<string>): InteractionRequest => {
  const { kind, type, condition } = wanted
  const id = kind === 'create' ? undefined : wanted.id
  const query = kind === 'create' || condition === undefined ? '' : `?${condition}`
  const ifMatch = kind === 'create' ? undefined : wanted.ifMatch
  const headers: IncomingHttpHeaders = {
    ...(ifMatch === undefined ? {} : { 'if-match': toETag(ifMatch) }),
    ...(kind === 'create' && condition !== undefined ? { 'if-none-exist': condition } : {}),
  }
  const params = id === undefined ? { type } : { type, id }
  return {
    ctx,
    headers,
    method: METHODS[kind],
    url: `/${type}${id === undefined ? '' : `/${id}`}${query}`,
    params,
    gone,
  }
}

const addressOf = (
  parts: ChangeStepParts,
  view: View,
  request: InteractionRequest,
  wanted: SessionChange,
): AddressedChange => {
  const { create, update, deleteOne } = parts.changes
  switch (wanted.kind) {
    case 'create':
      return create(view, request)
    case 'update':
      return update(view, request)
    case 'delete':
      return deleteOne(view, request)
    case 'modify':
      return addressRevision(parts, view, request, wanted.revise)
  }
}

/** Bytes, which may be transferred to a thread, or what was parsed already; undefined for a change without content. */
const bodyOf = (wanted: SessionChange): unknown =>
  wanted.kind === 'create' || wanted.kind === 'update' ? (wanted.parsed ?? Buffer.from(wanted.json)) : undefined

/**
 * The steps of the changes of one call. `gone` holds `Type/id` of what they delete; their conditions do not match it. A step
 * returns a promise only when it waits for something, because an import takes it hundreds of times.
 */
export const createSteps = (parts: ChangeStepParts, { view, request }: Opened, gone: Set<string>) => {
  const { run } = view
  const { guardChange, prepareWrite } = parts
  /** Runs `work`. When it throws, the fact of the refused interaction is emitted. */
  const audited = <T>(interaction: Interaction, work: () => MaybePromise<T>): MaybePromise<T> => {
    const refuse = async (error: unknown): Promise<never> => {
      if (!isContention(error)) await emitRefused(run, request, interaction, error)
      throw error
    }
    try {
      const done = work()
      return done instanceof Promise ? done.catch(refuse) : done
    } catch (error) {
      return refuse(error)
    }
  }
  return {
    rule(wanted: SessionChange, at: number): MaybePromise<Ruled> {
      const addressed = addressOf(parts, view, toAsked(request, wanted, gone), wanted)
      const { interaction } = addressed
      return audited(interaction, () =>
        chain(authorize(run, request, interaction), (ruling) =>
          chain(guardChange(view, request, ruling, interaction), (guard) => ({ at, wanted, addressed, ruling, guard })),
        ),
      )
    },
    locate(one: Ruled): MaybePromise<Located> {
      const { wanted, addressed, guard } = one
      const { interaction } = addressed
      const { type, kind } = wanted
      // Each attempt makes its own bytes, because they may be transferred to a thread.
      const read = (id: string | undefined): MaybePromise<unknown> =>
        prepareWrite.body(view, request, { type, id, guard }, bodyOf(wanted))
      return audited(interaction, () =>
        chain(read(interaction.id), (body) =>
          chain(addressed.locate(body), (target) => {
            const isFoundOnly = kind === 'update' && interaction.id === undefined && target.found !== undefined
            return chain(isFoundOnly ? read(target.id) : body, (own) => ({
              ...one,
              target,
              body: own,
              key: lockKeyOf({ type, id: target.id }),
            }))
          }),
        ),
      )
    },
    prepare(one: Located): MaybePromise<Ready> {
      const { addressed, target, guard, ruling, body } = one
      return audited(interactionAbout(addressed, target), () =>
        chain(addressed.prepare(guard, target, body, ruling), (prepared): MaybePromise<Ready> => {
          if (prepared.change === undefined) return { ...one, prepared }
          return chain(prepareWrite.change(view, request, prepared.change), (change) => ({
            ...one,
            prepared: { ...prepared, change },
          }))
        }),
      )
    },
    audited,
  }
}
