/**
 * A live query that changes are matched against. It is filed before its first page is read, so a change is either in a
 * page, or delivered, or both; the versions that were shown decide which. It stores no set of its matches: the versions
 * before and after a change show whether the resource enters, changes or leaves.
 */
import type { Restriction } from '../../kernel/index.ts'
import type { CurrentResource } from '../fhir/service.ts'
import { SetTooLarge } from './errors.ts'
import { kindOf, type ResourceDelta, toLine } from './judged-change.ts'
import {
  deltaText,
  type LiveQuery,
  type LiveQueryParts,
  PAGE_BYTES,
  PAGE_SIZE,
  pageText,
  parametersOf,
  RENEWS_AFTER_MS,
  readyText,
  resetText,
} from './live-query.ts'
import type { Place } from './place.ts'
import type { QuerySeal } from './position-seal.ts'
import { readMissed } from './read-missed.ts'
import type { Receiver, ResetReason } from './receiver.ts'
import type { SharedQuery } from './shared-query.ts'

const MAX_SET = 10_000 // matches; more is an export
const MAX_PENDING = 10_000 // resources
/** A search may find a change a moment before it is delivered, so shown versions are remembered this much longer. */
const KNOWS_SHOWN_MS = 10_000

interface Shown {
  readonly version: number
  readonly isIn: boolean
}

interface Pending {
  readonly delta: ResourceDelta
  /** Whether the client has it. */
  readonly wasIn: boolean
  readonly isIn: boolean
}

export interface MatchedQueryOptions {
  readonly id: string
  /** As the client wrote it. */
  readonly query: string
  /** What it may share with others. */
  readonly shared: SharedQuery
  /** Bound to query, ruling and caller. */
  readonly positions: QuerySeal
}

/** There are thousands of them: what most do not need is undefined, and nothing is a closure. */
export class MatchedQuery implements LiveQuery, Receiver {
  readonly #parts: LiveQueryParts
  readonly id: string
  readonly #query: string
  readonly #positions: QuerySeal
  #shared: SharedQuery
  #state: 'loading' | 'live' | 'ended' = 'loading'
  /** Newest last; of each resource only the newest change. */
  #pending: Map<string, Pending> | undefined
  /** While they are remembered: undefined for none. */
  #shown: Map<string, Shown> | undefined
  #remembersShown = true
  #forgetShownAt = Number.POSITIVE_INFINITY
  #pages: AsyncIterator<CurrentResource> | undefined
  #ahead: IteratorResult<CurrentResource> | undefined
  #isFresh = false
  #read = 0
  #isReading = false
  #isReadyDue = false
  /** All changes up to here have been sent. Undefined before the first `ready`. */
  #sent: Place | undefined
  renewsAt: number

  constructor(parts: LiveQueryParts, { id, query, shared, positions }: MatchedQueryOptions) {
    this.#parts = parts
    this.id = id
    this.#query = query
    this.#shared = shared
    this.#positions = positions
    this.renewsAt = parts.clock.monotonic() + RENEWS_AFTER_MS
  }

  get type(): string {
    return this.#shared.matcher.type
  }

  get restrictions(): readonly Restriction[] {
    return this.#shared.matcher.restrictions
  }

  /** The search parameters. */
  get text(): string {
    return parametersOf(this.type, this.#query)
  }

  async start(resume: string | undefined): Promise<void> {
    const { hub, outlet } = this.#parts
    this.#shared = hub.file(this.#shared, this)
    if (resume === undefined) {
      this.#isFresh = true
      this.#pages = outlet.session().stream(this.type, this.text)[Symbol.asyncIterator]()
      return this.more()
    }
    const from = this.#positions.open(resume)
    const missed = from && (await hub.missed(from.place, this.type))
    const found = missed && (await readMissed(this.#parts, this.#shared.matcher, missed, from.isLoose))
    if (this.#isEnded) return
    if (from === undefined || found === undefined) return this.reset('gap')
    for (const { delta, wasIn, isIn } of found) {
      const newer = this.#pending?.get(delta.id)
      const isOlder = newer !== undefined && newer.delta.version > delta.version
      this.#hold(isOlder ? { ...newer, wasIn } : { delta, wasIn, isIn })
    }
    this.#sent = from.place
    await this.#settle()
  }

  async more(): Promise<void> {
    if (this.#state !== 'loading' || this.#pages === undefined || this.#isReading) return
    this.#isReading = true
    try {
      await this.#sendPage(this.#pages)
    } finally {
      this.#isReading = false
    }
  }

  async #sendPage(pages: AsyncIterator<CurrentResource>): Promise<void> {
    const { outlet } = this.#parts
    const texts: string[] = []
    let size = 0
    let item = this.#ahead ?? (await pages.next())
    while (!this.#isEnded && item.done !== true && texts.length < PAGE_SIZE && size < PAGE_BYTES) {
      this.#read += 1
      if (this.#read > MAX_SET) throw SetTooLarge(MAX_SET)
      const { value } = item
      if (this.#accepts(value)) {
        const json = toLine(value.json)
        size += json.length
        texts.push(json)
      }
      item = await pages.next()
    }
    if (this.#isEnded) return
    this.#ahead = item
    outlet.send(pageText(this.id, texts, item.done !== true))
    if (item.done !== true) return
    this.#pages = undefined
    this.#ahead = undefined
    await this.#settle()
  }

  get isLoading(): boolean {
    return this.#state === 'loading'
  }

  get #isEnded(): boolean {
    return this.#state === 'ended'
  }

  /** False for a version that a delivered change has replaced: the change is sent behind the pages. */
  #accepts({ id, version }: CurrentResource): boolean {
    const pending = this.#pending?.get(id)
    if (pending !== undefined && pending.delta.version > version) return false
    this.#release(id)
    this.#remember(id, { version, isIn: true })
    return true
  }

  /** Behind all others that wait. */
  #hold(pending: Pending): void {
    this.#pending ??= new Map()
    this.#pending.delete(pending.delta.id)
    this.#pending.set(pending.delta.id, pending)
  }

  #release(id: string): void {
    if (this.#pending?.delete(id) && this.#pending.size === 0) this.#pending = undefined
  }

  #remember(id: string, shown: Shown): void {
    if (!this.#remembersShown) return
    this.#shown ??= new Map()
    this.#shown.set(id, shown)
  }

  async #settle(): Promise<void> {
    await this.#parts.hub.settled()
    if (this.#isEnded) return
    this.#state = 'live'
    this.#forgetShownAt = this.#parts.clock.monotonic() + KNOWS_SHOWN_MS
    this.#isReadyDue = true
    this.flush()
  }

  deliver(delta: ResourceDelta, at: Place, judgedIn: boolean, isIn: boolean): void {
    if (this.#state === 'ended') return
    const there = this.#pending?.get(delta.id)
    const known = this.#shown?.get(delta.id)
    if (delta.version <= Math.max(there?.delta.version ?? 0, known?.version ?? 0)) return
    // While all shown versions are remembered, the client has those and no others; after a resume it has more.
    const isAllKnown = this.#isFresh && this.#remembersShown
    const wasIn = there?.wasIn ?? known?.isIn ?? (judgedIn && !isAllKnown)
    if (this.#state === 'live' && this.#pending === undefined && !this.#isReadyDue && !this.#parts.outlet.isBlocked) {
      this.#send(delta, wasIn, isIn, at, false)
      this.#sent = at
      return
    }
    this.#hold({ delta, wasIn, isIn })
    if (this.#pending !== undefined && this.#pending.size > MAX_PENDING) this.reset('slow')
  }

  #send(delta: ResourceDelta, wasIn: boolean, isIn: boolean, place: Place, isLoose: boolean): void {
    const { outlet } = this.#parts
    this.#remember(delta.id, { version: delta.version, isIn })
    const kind = kindOf(wasIn, isIn)
    if (kind === undefined || !outlet.recordShown(this, delta)) return
    outlet.send(deltaText(this.id, this.#positions.seal({ place, isLoose })), delta.rest(kind))
  }

  flush(): void {
    const { outlet, hub } = this.#parts
    if (this.#state !== 'live') return
    const { processed } = hub
    // A gap ends the query, so behind one there is nothing to send.
    if (processed === undefined) return
    for (const { delta, wasIn, isIn } of this.#pending?.values() ?? []) {
      if (outlet.isBlocked || this.#isEnded) return
      this.#release(delta.id)
      // Merged changes are out of order, so a position among them would hide some: only the last has the new one.
      const isLast = this.#pending === undefined
      const at = isLast ? processed : (this.#sent ?? processed)
      this.#send(delta, wasIn, isIn, at, !isLast)
      this.#sent = at
    }
    if (this.#isEnded || outlet.isBlocked) return
    if (this.#isReadyDue || this.#sent === undefined) this.#sendReady(processed)
  }

  #sendReady(processed: Place): void {
    this.#isReadyDue = false
    this.#sent = processed
    this.#parts.outlet.send(readyText(this.id, this.#positions.seal({ place: processed, isLoose: false })))
  }

  renew(now: number): void {
    this.renewsAt = now + RENEWS_AFTER_MS
    if (this.#state !== 'live') return
    this.#isReadyDue = true
    this.flush()
    if (now < this.#forgetShownAt || this.#isReadyDue || this.#pending !== undefined) return
    this.#remembersShown = false
    this.#shown = undefined
  }

  reset(reason: ResetReason): void {
    if (this.#state === 'ended') return
    const { outlet } = this.#parts
    this.end()
    outlet.send(resetText(this.id, reason))
    outlet.ended(this)
  }

  end(): void {
    if (this.#state === 'ended') return
    this.#state = 'ended'
    this.#parts.hub.unfile(this.#shared, this)
    this.#pending = undefined
    this.#shown = undefined
    // A page may still be being read; its failure concerns nobody any more.
    this.#pages?.return?.().catch(() => undefined)
    this.#pages = undefined
  }
}
