/** Asks what must be right before a resource goes to its transaction: its structure and rules, then other plugins. */
import type { Interaction, RequestContext } from '../../../kernel/index.ts'
import type { Incoming } from '../incoming.ts'
import type { FhirServer } from '../server.ts'

const then = (before: undefined | Promise<void>, next: () => unknown): undefined | Promise<void> => {
  if (before !== undefined) return before.then(next).then(() => undefined)
  const asked = next()
  return asked instanceof Promise ? asked.then(() => undefined) : undefined
}

/** Throws 4xx. A promise only when a check is one: then it cannot be asked inside a transaction. */
export const examine = (
  { validator, checks }: FhirServer,
  request: RequestContext,
  interaction: Interaction,
  { resource, text }: Pick<Incoming, 'resource' | 'text'>,
): undefined | Promise<void> => {
  let all: undefined | Promise<void>
  if (validator !== undefined) all = then(all, () => validator.admit(resource, { text }))
  for (const check of checks)
    if (check.examine !== undefined && (check.type === undefined || check.type === resource.resourceType))
      all = then(all, () => check.examine?.({ request, interaction, resource, text }))
  return all
}
