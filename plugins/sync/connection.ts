/**
 * One connection: its messages, its live queries, and what bounds them. Time comes once a second from outside, so that
 * thousands of connections need no timers of their own.
 */
import { toOutcome, toServerError } from '../../kernel/index.ts'
import type { FromClient } from '../../schemas/sync.ts'
import type { SessionReads } from '../fhir/service.ts'
import type { SyncConnection } from '../limits/service.ts'
import { findChangedRulings } from './changed-rulings.ts'
import { CLOSE } from './channel.ts'
import { compileLiveQuery } from './compile-live-query.ts'
import type { ConnectionOptions, ConnectionParts } from './connection-parts.ts'
import { QueryTwice, QueryUnknown } from './errors.ts'
import type { ResourceDelta } from './judged-change.ts'
import type { LiveQuery, LiveQueryParts, Outlet } from './live-query.ts'
import type { ResetReason } from './receiver.ts'
import { createSpeedWatch, type SpeedWatch } from './speed-watch.ts'

const TOKEN_MS = 5_000 // for the first message, where the request had no token
const REAUTHENTICATE_MS = 60_000 // before the token ends
const RECHECK_MS = 30_000
const MAX_MESSAGES = 1_000 // that wait for those before them

type Subscribe = Extract<FromClient, { op: 'subscribe' }>

const instant = (ms: number): string => new Date(ms).toISOString()

export class Connection implements Outlet {
  readonly #parts: ConnectionParts
  readonly #options: ConnectionOptions
  /** Each is counted. Undefined until it is compiled; then it is the last one. In the order in which they are to be renewed. */
  readonly #queries = new Map<string, LiveQuery | undefined>()
  /** What its queries share; made for the first one. */
  #queryParts: LiveQueryParts | undefined
  readonly #openedAt: number
  readonly #speed: SpeedWatch
  #limited: SyncConnection | undefined
  #awaitsToken: boolean
  #isClosed = false
  /** True while the rights of the caller are asked for. */
  #isHeld = false
  /** Something may wait that could not be sent. */
  #hasWaiting = false
  #messages = 0
  #tail: Promise<void> = Promise.resolve()
  #checkedAt: number
  #warnedFor: number | undefined
  #drainWaits: (() => void)[] = []

  constructor(parts: ConnectionParts, options: ConnectionOptions) {
    this.#parts = parts
    this.#options = options
    this.#limited = options.limited
    this.#awaitsToken = options.awaitsToken
    this.#openedAt = parts.clock.monotonic()
    this.#checkedAt = this.#openedAt
    this.#speed = createSpeedWatch(() => options.channel.unsent, this.#openedAt)
  }

  welcome(): void {
    const { expiresAt } = this.#options.access
    const expires = expiresAt === undefined || this.#awaitsToken ? {} : { expires: instant(expiresAt) }
    this.send(JSON.stringify({ op: 'welcome', needsToken: this.#awaitsToken, ...expires }))
  }

  /** Messages are answered in their order. */
  receive(message: FromClient): void {
    this.#messages += 1
    if (this.#messages > MAX_MESSAGES) {
      this.close(CLOSE.malformed, 'too many messages at once')
      return
    }
    this.#tail = this.#tail
      .then(() => this.#answer(message))
      .catch((error: unknown) => {
        this.#parts.log.error({ err: error }, 'a message of /sync could not be answered')
        this.close(CLOSE.failed, 'failed')
      })
      .finally(() => {
        this.#messages -= 1
      })
  }

  async #answer(message: FromClient): Promise<void> {
    if (this.#isClosed) return
    if (message.op === 'auth') return this.#authenticate(message.token)
    if (this.#awaitsToken) return this.close(CLOSE.unauthorized, 'the first message is auth')
    if (message.op === 'subscribe') return this.#subscribe(message)
    const { id } = message
    if (!this.#queries.has(id)) return this.#refuse(QueryUnknown(id), id, false)
    if (message.op === 'unsubscribe') return this.#drop(id)
    try {
      await this.#queries.get(id)?.more()
    } catch (error) {
      this.#fail(id, error)
    }
  }

  async #subscribe({ id, query: text, resume }: Subscribe): Promise<void> {
    if (this.#queries.has(id)) return this.#refuse(QueryTwice(id), id, false)
    try {
      this.#count()
      this.#queries.set(id, undefined)
      this.#queryParts ??= { ...this.#parts, outlet: this, onError: (one, error) => this.#fail(one.id, error) }
      const query = await compileLiveQuery(this.#queryParts, this.#options.access.name, { id, query: text })
      if (this.#isClosed) return
      this.#queries.set(id, query)
      await query.start(resume)
      if (this.#options.pages === 'all') await this.#sendAllPages(query)
    } catch (error) {
      this.#fail(id, error)
    }
  }

  /** Counts a query. Throws 429, 503. */
  #count(): void {
    const { openQuery, closeQuery } = this.#parts
    openQuery()
    try {
      this.#limited?.openQuery()
    } catch (error) {
      closeQuery()
      throw error
    }
  }

  async #sendAllPages(query: LiveQuery): Promise<void> {
    while (query.isLoading && !this.#isClosed) {
      if (this.isBlocked) await new Promise<void>((resolve) => this.#drainWaits.push(resolve))
      else await query.more()
    }
  }

  /** Takes a token: the first one, or another one of the same caller. */
  async #authenticate(token: string): Promise<void> {
    const { access } = this.#options
    await this.#check(() => access.authenticate(token))
    if (this.#isClosed) return
    const { limit } = this.#parts
    if (this.#awaitsToken && limit !== undefined) {
      // Until now it was counted by its address.
      this.#limited?.close()
      this.#limited = undefined
      try {
        this.#limited = limit(access.request())
      } catch (error) {
        this.#refuse(error, undefined, true)
        return this.close(CLOSE.unauthorized, 'too many connections')
      }
    }
    this.#awaitsToken = false
    this.#checkedAt = this.#parts.clock.monotonic()
    this.welcome()
  }

  /** Nothing is sent under the old rights meanwhile. Closes the connection where there are none any more. */
  async #check(identify: () => Promise<void>): Promise<void> {
    this.#isHeld = true
    try {
      await identify()
      const queries = [...this.#queries.values()].flatMap((query) => query ?? [])
      for (const one of await findChangedRulings(this.session, queries)) one.reset('access')
    } catch (error) {
      const { status } = toServerError(error)
      this.#refuse(error, undefined, true)
      this.close(status >= 500 ? CLOSE.failed : CLOSE.unauthorized, 'the token does not count')
    } finally {
      this.#isHeld = false
      this.drained()
    }
  }

  get isBlocked(): boolean {
    const isBlocked = this.#isClosed || this.#isHeld || this.#speed.isFull
    if (isBlocked) this.#hasWaiting = true
    return isBlocked
  }

  session = (): SessionReads => this.#parts.resources.as(this.#options.access.request())

  send(text: string, rest?: Buffer): void {
    if (this.#isClosed) return
    if (this.#isExpired) this.close(CLOSE.unauthorized, 'the token has expired')
    else this.#options.channel.send(text, rest)
  }

  recordShown(query: { readonly type: string; readonly text: string }, delta: ResourceDelta): boolean {
    if (this.#isClosed || this.#isExpired) return false
    const { shown, access } = this.#options
    return shown.record(access, query, delta, () => this.close(CLOSE.failed, 'the audit event could not be stored'))
  }

  ended({ id }: LiveQuery): void {
    this.#drop(id)
  }

  get #isExpired(): boolean {
    const { expiresAt } = this.#options.access
    return expiresAt !== undefined && this.#parts.clock.now() >= expiresAt
  }

  #refuse(thrown: unknown, id: string | undefined, final: boolean): void {
    const error = toServerError(thrown)
    if (error.status >= 500 && error.status !== 503)
      this.#parts.log.error({ key: error.key, err: error.cause ?? error }, 'a live query failed')
    this.send(JSON.stringify({ op: 'error', ...(id === undefined ? {} : { id }), outcome: toOutcome(error), final }))
  }

  #fail(id: string, error: unknown): void {
    this.#drop(id)
    if (!this.#isClosed) this.#refuse(error, id, true)
  }

  #drop(id: string): void {
    const query = this.#queries.get(id)
    if (!this.#queries.delete(id)) return
    query?.end()
    this.#limited?.closeQuery()
    this.#parts.closeQuery()
  }

  #reset(reason: ResetReason): void {
    for (const query of [...this.#queries.values()]) query?.reset(reason)
  }

  /** The client has taken bytes: called for each message, so it must cost nothing where nothing waits. */
  drained(): void {
    if (!this.#hasWaiting || (this.isBlocked && !this.#isClosed)) return
    this.#hasWaiting = false
    for (const resolve of this.#drainWaits.splice(0)) resolve()
    for (const query of [...this.#queries.values()]) query?.flush()
  }

  /** Once a second. */
  tick(): void {
    if (this.#isClosed) return
    const now = this.#parts.clock.monotonic()
    this.#tickToken(now)
    const speed = this.#speed.tick(now)
    if (speed === 'close') this.close(CLOSE.slow, 'the client reads too slowly')
    else if (speed === 'reset') this.#reset('slow')
    if (this.isBlocked) return
    this.drained()
    this.#renew(now)
  }

  /** Goes through those only that are due: there may be thousands. */
  #renew(now: number): void {
    for (const [id, query] of this.#queries) {
      if (query === undefined || now < query.renewsAt) return
      this.#queries.delete(id)
      this.#queries.set(id, query)
      query.renew(now)
    }
  }

  #tickToken(now: number): void {
    if (this.#awaitsToken) {
      if (now - this.#openedAt >= TOKEN_MS) this.close(CLOSE.unauthorized, 'no token came')
      return
    }
    const { access } = this.#options
    const { expiresAt } = access
    if (this.#isExpired) this.close(CLOSE.unauthorized, 'the token has expired')
    else if (
      expiresAt !== undefined &&
      this.#warnedFor !== expiresAt &&
      expiresAt - this.#parts.clock.now() <= REAUTHENTICATE_MS
    ) {
      this.#warnedFor = expiresAt
      this.send(JSON.stringify({ op: 'reauthenticate', before: instant(expiresAt) }))
    }
    if (this.#isClosed || this.#isHeld || now - this.#checkedAt < RECHECK_MS) return
    this.#checkedAt = now
    // Not behind the messages, one of which may wait for a slow client.
    void this.#check(() => access.recheck())
  }

  close(code: number, reason: string): void {
    if (this.#isClosed) return
    this.#options.channel.close(code, reason)
    this.closed()
  }

  /** The channel has closed: releases everything. */
  closed(): void {
    this.#isClosed = true
    for (const resolve of this.#drainWaits.splice(0)) resolve()
    for (const id of [...this.#queries.keys()]) this.#drop(id)
    this.#limited?.close()
    this.#limited = undefined
  }
}
