/** Checks a Subscription before it is stored, and remembers the restrictions with which it will run. */
import { type Clock, extentOf, isServerError, type RequestContext, type Restriction } from '../../kernel/index.ts'
import type { Database } from '../database/service.ts'
import type { Resources, WriteCheck } from '../fhir/service.ts'
import {
  CriteriaForbidden,
  CriteriaRefused,
  NotRequestedHere,
  StatusOfServer,
  SubscriptionRefused,
  SubscriptionsOff,
  TooMany,
} from './errors.ts'
import { isOwnRequest } from './own-request.ts'
import { type ChannelRules, type RequestedSubscription, readSubscription } from './read-subscription.ts'
import { countRunning } from './tables.ts'

const MAX_RUNNING = 1_000

/** The restrictions under which a request may search a type, as they were found before its transaction. */
export interface FoundRulings {
  keep(request: RequestContext, type: string, restrictions: readonly Restriction[]): void
  of(request: RequestContext, type: string): readonly Restriction[] | undefined
}

export const createFoundRulings = (): FoundRulings => {
  const found = new WeakMap<RequestContext, Map<string, readonly Restriction[]>>()
  return {
    keep(request, type, restrictions) {
      found.set(request, (found.get(request) ?? new Map()).set(type, restrictions))
    },
    of: (request, type) => found.get(request)?.get(type),
  }
}

export interface SubscriptionCheckParts {
  readonly database: Pick<Database, 'get'>
  readonly resources: Resources
  readonly isReadElsewhere: (type: string) => boolean
  readonly rules: ChannelRules
  readonly rulings: FoundRulings
  readonly clock: Clock
}

/** Runs `work`, which reads the criteria, and turns its 400 and 404 into 422. */
const readingCriteria = async <T>(work: () => Promise<T>): Promise<T> => {
  try {
    return await work()
  } catch (error) {
    if (!isServerError(error) || (error.status !== 400 && error.status !== 404)) throw error
    throw CriteriaRefused(error.message).with({ expression: ['Subscription.criteria'] })
  }
}

/** Throws 403, 422. */
const checkAccess = async (
  { resources, isReadElsewhere, rulings }: SubscriptionCheckParts,
  request: RequestContext,
  { type, query }: RequestedSubscription,
): Promise<void> => {
  await readingCriteria(async () => {
    const session = resources.as(request)
    const restrictions = await session.ruling(type)
    if (isReadElsewhere(type))
      throw CriteriaRefused(`${type} is not stored as resources.`).with({ expression: ['Subscription.criteria'] })
    if (restrictions.some((one) => extentOf(one, type, 'r') === 'none')) throw CriteriaForbidden(type)
    // Checks the parameters, also where it returns null because only a search can decide.
    await session.matches(type, query)
    rulings.keep(request, type, restrictions)
  })
}

export const createSubscriptionCheck = (parts: SubscriptionCheckParts): WriteCheck => ({
  name: 'subscriptions',
  type: 'Subscription',
  async checkContent({ request, resource }) {
    const { status } = resource
    if ((status !== 'requested' && status !== 'active') || isOwnRequest(request)) return
    const expression = ['Subscription.status']
    if (status === 'active') throw StatusOfServer().with({ expression })
    if (request.origin === 'server') throw NotRequestedHere().with({ expression })
    const { database, rules, clock } = parts
    const asked = readSubscription(resource, rules)
    if (asked.ends !== 0 && asked.ends <= clock.now())
      throw SubscriptionRefused('its end has passed').with({ expression: ['Subscription.end'] })
    await checkAccess(parts, request, asked)
    const running = await database.get<{ n: number }>(countRunning, [])
    if (Number(running?.n ?? 0) >= MAX_RUNNING) throw TooMany(MAX_RUNNING)
  },
})

/** The check where no channel is configured: a Subscription that would have to run is refused. */
export const refusingCheck: WriteCheck = {
  name: 'subscriptions',
  type: 'Subscription',
  checkContent({ resource: { status } }) {
    if (status === 'requested' || status === 'active')
      throw SubscriptionsOff(status).with({ expression: ['Subscription.status'] })
  },
}
