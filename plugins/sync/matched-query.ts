/**
 * A live query that changes are matched against. It is filed before its first page is read, so a change is either in a
 * page, or delivered, or both; the versions that were shown decide which. It stores no set of its matches: the versions
 * before and after a change show whether the resource enters, changes or leaves.
 */
import type { Restriction } from '../../kernel/index.ts'
import type { CurrentResource, Matcher, SessionReads } from '../fhir/service.ts'
import type { ChangeHub } from './change-hub.ts'
import type { Processed } from './change-queue.ts'
import { SetTooLarge } from './errors.ts'
import { kindOf, type PatientsOf, type ResourceDelta, toLine } from './judged-change.ts'
import {
  deltaText,
  type LiveQuery,
  type Outlet,
  PAGE_BYTES,
  PAGE_SIZE,
  pageText,
  readyText,
  resetText,
} from './live-query.ts'
import type { QuerySeal } from './position-seal.ts'
import { readMissed } from './read-missed.ts'
import type { Receiver, ResetReason } from './receiver.ts'

const MAX_SET = 10_000 // matches; more is an export
const MAX_PENDING = 10_000 // resources
/** A search may find a change a moment before it is delivered, so shown versions are remembered this much longer. */
const KNOWS_SHOWN_MS = 10_000
/** A quiet query sends a newer position by time alone: by what others write, it would show how much that is. */
const RENEWS_AFTER_MS = 30_000

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

export interface MatchedQueryParts {
  readonly id: string
  readonly type: string
  /** The search parameters. */
  readonly text: string
  readonly matcher: Matcher
  /** Query and ruling. */
  readonly scope: string
  /** Bound to query, ruling and caller. */
  readonly positions: QuerySeal
  readonly hub: ChangeHub
  readonly outlet: Outlet
  /** Of the server itself: what it reads is tested against the matcher before it is shown. */
  readonly internal: Pick<SessionReads, 'read' | 'subject'>
  readonly patientsOf: PatientsOf
}

export class MatchedQuery implements LiveQuery, Receiver {
  readonly #parts: MatchedQueryParts
  readonly id: string
  readonly type: string
  readonly restrictions: readonly Restriction[]
  #state: 'loading' | 'live' | 'ended' = 'loading'
  /** Newest last; of each resource only the newest change. */
  readonly #pending = new Map<string, Pending>()
  #shown: Map<string, Shown> | undefined = new Map()
  #forgetShownAt: number | undefined
  #pages: AsyncIterator<CurrentResource> | undefined
  #ahead: IteratorResult<CurrentResource> | undefined
  #isFresh = false
  #read = 0
  #isReading = false
  #isReadyDue = false
  /** All changes up to here have been sent. Undefined before the first `ready`. */
  #sent: Processed | undefined
  #renewsAt: number | undefined
  #unfile: () => void = () => undefined

  constructor(parts: MatchedQueryParts) {
    this.#parts = parts
    this.id = parts.id
    this.type = parts.type
    this.restrictions = parts.matcher.restrictions
  }

  async start(resume: string | undefined): Promise<void> {
    const { hub, scope, matcher, positions, outlet, text } = this.#parts
    this.#unfile = hub.file(scope, matcher, this)
    if (resume === undefined) {
      this.#isFresh = true
      this.#pages = outlet.session().stream(this.type, text)[Symbol.asyncIterator]()
      return this.more()
    }
    const from = positions.open(resume)
    const missed = from && (await hub.missed(from.place, this.type))
    const found = missed && (await readMissed(this.#parts, missed, from.isLoose))
    if (this.#isEnded) return
    if (from === undefined || found === undefined) return this.reset('gap')
    for (const { delta, wasIn, isIn } of found) {
      const newer = this.#pending.get(delta.id)
      const isOlder = newer !== undefined && newer.delta.version > delta.version
      this.#pending.set(delta.id, isOlder ? { ...newer, wasIn } : { delta, wasIn, isIn })
    }
    this.#sent = { place: from.place, count: 0 }
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
    const pending = this.#pending.get(id)
    if (pending !== undefined && pending.delta.version > version) return false
    this.#pending.delete(id)
    this.#shown?.set(id, { version, isIn: true })
    return true
  }

  async #settle(): Promise<void> {
    await this.#parts.hub.settled()
    if (this.#isEnded) return
    this.#state = 'live'
    this.#isReadyDue = true
    this.flush()
  }

  deliver(delta: ResourceDelta, at: Processed, judgedIn: boolean, isIn: boolean): void {
    if (this.#state === 'ended') return
    const there = this.#pending.get(delta.id)
    const known = this.#shown?.get(delta.id)
    if (delta.version <= Math.max(there?.delta.version ?? 0, known?.version ?? 0)) return
    // While all shown versions are remembered, the client has those and no others; after a resume it has more.
    const isAllKnown = this.#isFresh && this.#shown !== undefined
    const wasIn = there?.wasIn ?? known?.isIn ?? (judgedIn && !isAllKnown)
    if (this.#state === 'live' && this.#pending.size === 0 && !this.#isReadyDue && !this.#parts.outlet.isBlocked) {
      this.#send({ delta, wasIn, isIn }, at, false)
      this.#sent = at
      return
    }
    this.#pending.delete(delta.id)
    this.#pending.set(delta.id, { delta, wasIn, isIn })
    if (this.#pending.size > MAX_PENDING) this.reset('slow')
  }

  #send({ delta, wasIn, isIn }: Pending, { place }: Processed, isLoose: boolean): void {
    const { positions, outlet, type, text } = this.#parts
    this.#shown?.set(delta.id, { version: delta.version, isIn })
    const kind = kindOf(wasIn, isIn)
    if (kind === undefined || !outlet.recordShown({ type, text }, delta)) return
    outlet.send(deltaText(this.id, positions.seal({ place, isLoose }), delta.rest(kind)))
  }

  flush(): void {
    const { outlet, hub } = this.#parts
    if (this.#state !== 'live') return
    const { processed } = hub
    // A gap ends the query, so behind one there is nothing to send.
    if (processed === undefined) return
    for (const [id, pending] of this.#pending) {
      if (outlet.isBlocked || this.#isEnded) return
      this.#pending.delete(id)
      // Merged changes are out of order, so a position among them would hide some: only the last has the new one.
      const isLast = this.#pending.size === 0
      const at = isLast ? processed : (this.#sent ?? processed)
      this.#send(pending, at, !isLast)
      this.#sent = at
    }
    if (this.#isEnded || outlet.isBlocked) return
    if (this.#isReadyDue || this.#sent === undefined) this.#sendReady(processed)
  }

  #sendReady(processed: Processed): void {
    const { positions, outlet } = this.#parts
    this.#isReadyDue = false
    this.#sent = processed
    outlet.send(readyText(this.id, positions.seal({ place: processed.place, isLoose: false })))
  }

  tick(now: number): void {
    if (this.#state !== 'live') return
    this.#renewsAt ??= now + RENEWS_AFTER_MS
    if (now >= this.#renewsAt) {
      this.#renewsAt = now + RENEWS_AFTER_MS
      this.#isReadyDue = true
    }
    this.flush()
    if (this.#shown === undefined || this.#isReadyDue) return
    this.#forgetShownAt ??= now + KNOWS_SHOWN_MS
    if (now >= this.#forgetShownAt && this.#pending.size === 0) this.#shown = undefined
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
    this.#unfile()
    this.#pending.clear()
    this.#shown = undefined
    // A page may still be being read; its failure concerns nobody any more.
    this.#pages?.return?.().catch(() => undefined)
    this.#pages = undefined
  }
}
