/** Asks what must be right before a resource goes to its transaction: its structure and rules, then other plugins. */
import type { Interaction, Issue, RequestContext } from '../../../kernel/index.ts'
import type { References } from '../../search/service.ts'
import type { WriteCheck, WriteGuard } from '../../storage/service.ts'
import type { Validator } from '../../validation/service.ts'
import { issuesFound } from '../large/findings.ts'
import type { Prefer } from '../presentation/presentation-parameters.ts'
import type { IncomingResource } from './incoming-resource.ts'

const then = (before: undefined | Promise<void>, next: () => unknown): undefined | Promise<void> => {
  if (before !== undefined) return before.then(next).then(() => undefined)
  const asked = next()
  return asked instanceof Promise ? asked.then(() => undefined) : undefined
}

const keep = (warnings: Issue[], found: readonly Issue[] | Promise<readonly Issue[]>): undefined | Promise<void> => {
  if (found instanceof Promise) return found.then((issues) => void warnings.push(...issues))
  warnings.push(...found)
  return undefined
}

/** What did not refuse a change is kept only for who asks for it: `Prefer: return=OperationOutcome`. */
export const warningsList = (prefer: Prefer): Issue[] | undefined =>
  prefer.return === 'OperationOutcome' ? [] : undefined

export interface ContentCheck {
  readonly guard: WriteGuard
  /** The id it is to have. */
  readonly id: string
  /** Gets what does not refuse it. */
  readonly warnings?: Issue[] | undefined
}

/**
 * What the resource itself shows, then whether the caller's access covers it. Throws 4xx. A promise only when a check is
 * one: then it cannot be asked inside a transaction.
 */
export type CheckContent = (
  request: RequestContext,
  interaction: Interaction,
  content: Pick<IncomingResource, 'resource' | 'sent' | 'refusal'>,
  check: ContentCheck,
) => undefined | Promise<void>

export interface CheckContentParts {
  /** Undefined when no plugin validates. */
  readonly validator: Validator | undefined
  readonly checks: readonly WriteCheck[]
  readonly references: Pick<References, 'of'>
}

export const createCheckContent =
  ({ validator, checks, references }: CheckContentParts): CheckContent =>
  (request, interaction, { resource, sent, refusal }, { guard, id, warnings }) => {
    let all: undefined | Promise<void>
    if (validator !== undefined)
      all = then(all, () => {
        if (refusal !== undefined) throw refusal
        const known = validator.remote === undefined ? undefined : issuesFound(resource)
        const found = validator.validateWrite(resource, known === undefined ? { text: sent.text } : { found: known })
        return warnings === undefined ? found : keep(warnings, found)
      })
    for (const check of checks)
      if (check.checkContent !== undefined && (check.type === undefined || check.type === resource.resourceType))
        all = then(all, () =>
          check.checkContent?.({
            request,
            interaction,
            resource,
            get text() {
              return sent.text
            },
          }),
        )
    if (guard.restricts)
      all = then(all, () => {
        guard.content(id, resource)
        const referred = references.of(resource, request.ownUrl)
        return guard.prepare(
          new Set(referred.flatMap(({ pointing }) => (pointing.to === 'here' ? [pointing.type] : []))),
        )
      })
    return all
  }
