/** Checks a resource before its transaction: the validation, the checks of other plugins, then the caller's access. */
import type { Interaction, Issue, RequestContext } from '../../../kernel/index.ts'
import type { References } from '../../search/service.ts'
import type { WriteCheck, WriteCheckInput, WriteGuard } from '../../storage/service.ts'
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

/** Warnings are collected only for `Prefer: return=OperationOutcome`, because other answers do not show them. */
export const warningsList = (prefer: Prefer): Issue[] | undefined =>
  prefer.return === 'OperationOutcome' ? [] : undefined

export interface ContentCheck {
  readonly guard: WriteGuard
  /** The id that the resource will have. */
  readonly id: string
  /** Collects warnings. */
  readonly warnings?: Issue[] | undefined
}

/**
 * Validates the resource, runs the checks of other plugins, then checks that the caller's access covers the content.
 * Throws 4xx. Returns a promise only when a check is asynchronous; such a check cannot run inside a transaction.
 */
export type CheckContent = (
  request: RequestContext,
  interaction: Interaction,
  content: Pick<IncomingResource, 'resource' | 'sent' | 'refusal'>,
  check: ContentCheck,
) => undefined | Promise<void>

class CheckInput implements WriteCheckInput {
  readonly request: RequestContext
  readonly interaction: Interaction
  readonly resource: IncomingResource['resource']
  readonly #sent: IncomingResource['sent']

  constructor(
    request: RequestContext,
    interaction: Interaction,
    resource: IncomingResource['resource'],
    sent: IncomingResource['sent'],
  ) {
    this.request = request
    this.interaction = interaction
    this.resource = resource
    this.#sent = sent
  }

  /** The text of a large body is decoded only for a check that reads it. */
  get text(): string {
    return this.#sent.text
  }
}

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
        const options = known === undefined ? { text: sent.text, request } : { found: known, request }
        const found = validator.validateWrite(resource, options)
        return warnings === undefined ? found : keep(warnings, found)
      })
    for (const check of checks)
      if (check.checkContent !== undefined && (check.type === undefined || check.type === resource.resourceType))
        all = then(all, () => check.checkContent?.(new CheckInput(request, interaction, resource, sent)))
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
