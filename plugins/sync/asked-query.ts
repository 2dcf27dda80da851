/**
 * A live query that only a search can decide, such as one with a chain. It is asked again at most once a second after a
 * change of anything, and compared with what the client has.
 */
import type { Restriction } from '../../kernel/index.ts'
import type { CurrentResource } from '../fhir/service.ts'
import type { Asker } from './change-hub.ts'
import { SetTooLarge } from './errors.ts'
import { type Kind, toLine, toResourceDelta } from './judged-change.ts'
import {
  deltaText,
  type LiveQuery,
  type LiveQueryParts,
  PAGE_SIZE,
  pageText,
  parametersOf,
  RENEWS_AFTER_MS,
  readyText,
  resetText,
} from './live-query.ts'
import type { Place } from './place.ts'
import type { QuerySeal } from './position-seal.ts'
import type { ResetReason } from './receiver.ts'

const MAX_SET = 1_000 // matches
const PAUSE_MS = 1_000 // between two searches

export interface AskedQueryOptions {
  readonly id: string
  readonly type: string
  /** As the client wrote it. */
  readonly query: string
  readonly restrictions: readonly Restriction[]
  readonly positions: QuerySeal
}

export class AskedQuery implements LiveQuery, Asker {
  readonly #parts: LiveQueryParts
  readonly id: string
  readonly type: string
  readonly #query: string
  readonly restrictions: readonly Restriction[]
  readonly #positions: QuerySeal
  #state: 'loading' | 'live' | 'ended' = 'loading'
  #isStale = false
  #isAsking = false
  #askedAt = Number.NEGATIVE_INFINITY
  /** Numbers of the versions that the client has, by id. */
  #has = new Map<string, number>()
  #waiting: CurrentResource[] = []
  #position: Place | undefined
  #unwatch: () => void = () => undefined
  renewsAt: number

  constructor(parts: LiveQueryParts, { id, type, query, restrictions, positions }: AskedQueryOptions) {
    this.#parts = parts
    this.id = id
    this.type = type
    this.#query = query
    this.restrictions = restrictions
    this.#positions = positions
    this.renewsAt = parts.clock.monotonic() + RENEWS_AFTER_MS
  }

  async start(resume: string | undefined): Promise<void> {
    this.#unwatch = this.#parts.hub.watch(this)
    // What matched at an earlier position is not known.
    if (resume !== undefined) return this.reset('gap')
    await this.#parts.hub.settled()
    this.#waiting = [...(await this.#ask())]
    await this.more()
  }

  async #ask(): Promise<readonly CurrentResource[]> {
    const { hub, outlet, clock } = this.#parts
    this.#isStale = false
    this.#position = hub.processed
    const found: CurrentResource[] = []
    for await (const one of outlet.session().stream(this.type, parametersOf(this.type, this.#query))) {
      if (this.#isEnded) break
      found.push(one)
      if (found.length > MAX_SET) throw SetTooLarge(MAX_SET)
    }
    this.#askedAt = clock.monotonic()
    return found
  }

  get isLoading(): boolean {
    return this.#state === 'loading'
  }

  get #isEnded(): boolean {
    return this.#state === 'ended'
  }

  async more(): Promise<void> {
    if (this.#state !== 'loading') return
    const { outlet } = this.#parts
    const page = this.#waiting.splice(0, PAGE_SIZE)
    for (const { id, version } of page) this.#has.set(id, version)
    const more = this.#waiting.length > 0
    outlet.send(
      pageText(
        this.id,
        page.map(({ json }) => toLine(json)),
        more,
      ),
    )
    if (more) return
    this.#state = 'live'
    outlet.send(readyText(this.id, this.#at()))
  }

  #at(): string {
    // There is none behind a gap, which has ended the query.
    return this.#position === undefined ? '' : this.#positions.seal({ place: this.#position, isLoose: true })
  }

  markStale(): void {
    this.#isStale = true
  }

  flush(): void {
    // It asks again once the connection takes more.
  }

  renew(now: number): void {
    // It cannot be resumed, so a newer position is of no use.
    this.renewsAt = now + RENEWS_AFTER_MS
  }

  tick(now: number): void {
    const isDue = this.#isStale && !this.#isAsking && now - this.#askedAt >= PAUSE_MS
    if (this.#state !== 'live' || !isDue || this.#parts.outlet.isBlocked) return
    this.#isAsking = true
    this.#compare()
      .catch((error: unknown) => {
        if (!this.#isEnded) this.#parts.onError(this, error)
      })
      .finally(() => {
        this.#isAsking = false
      })
  }

  async #compare(): Promise<void> {
    const found = await this.#ask()
    // Where it may not be sent now, it is asked again.
    if (this.#isEnded || this.#parts.outlet.isBlocked) {
      this.#isStale = true
      return
    }
    const had = this.#has
    this.#has = new Map(found.map(({ id, version }) => [id, version]))
    for (const one of found) {
      const known = had.get(one.id)
      if (known === undefined) this.#send(one, 'enter')
      else if (known !== one.version) this.#send(one, 'change')
    }
    for (const [id, version] of had) if (!this.#has.has(id)) this.#send({ id, version, json: undefined }, 'leave')
  }

  #send({ id, version, json }: { id: string; version: number; json: string | undefined }, kind: Kind): void {
    const delta = toResourceDelta(
      { type: this.type, id, version },
      () => json,
      () => [],
    )
    this.#parts.outlet.send(deltaText(this.id, this.#at()), delta.rest(kind))
  }

  reset(reason: ResetReason): void {
    if (this.#isEnded) return
    const { outlet } = this.#parts
    this.end()
    outlet.send(resetText(this.id, reason))
    outlet.ended(this)
  }

  end(): void {
    this.#state = 'ended'
    this.#unwatch()
    this.#waiting = []
    this.#has.clear()
  }
}
