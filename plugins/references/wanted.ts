/** Collects the targets of references that have to be looked up, and decides which of them a change may not name. */
import { createPause, type OwnUrl } from '../../kernel/index.ts'
import { chain, type MaybePromise, type Transaction } from '../database/service.ts'
import type { AppliedChange, ReadReference, References, Target } from '../fhir/service.ts'
import { byLockKey } from '../storage/service.ts'
import type { TargetCache } from './target-cache.ts'

/** A change that stores a resource, with its references. */
export interface Kept {
  readonly change: AppliedChange
  readonly resource: Readonly<Record<string, unknown>>
  readonly references: readonly ReadReference[]
}

const SLASH = 47
export const keyOf = ({ type, id }: Target): string => `${type}/${id}`

/**
 * The same key. Returns the text of the reference where it equals the key: looking up an existing string is faster than
 * making one.
 */
const keyIn = (text: string, target: Target): string => {
  const { type, id } = target
  const isKey =
    text.length === type.length + 1 + id.length &&
    text.charCodeAt(type.length) === SLASH &&
    text.startsWith(type) &&
    text.endsWith(id)
  return isKey ? text : keyOf(target)
}

const NONE: ReadonlySet<string> = new Set()
const versionKey = (target: Target): string => `${keyOf(target)} ${target.version ?? ''}`

/**
 * Targets that the previous version already named, for a caller with limited access: an update must not fail for
 * references that it did not change.
 */
const namedBefore = (
  references: References,
  { restricted }: AppliedChange,
  ownUrl: OwnUrl | undefined,
): ReadonlySet<string> => {
  const previous = restricted?.referred === undefined ? restricted?.previous : undefined
  const named = restricted?.referred ?? (previous && references.of(previous, ownUrl))
  if (named === undefined) return NONE
  return new Set(named.flatMap(({ pointing }) => (pointing.to === 'here' ? [versionKey(pointing.target)] : [])))
}

export interface Wanted {
  /** Targets that must exist, by their text, each once. */
  readonly held: ReadonlyMap<string, Target>
  /** Targets that the caller must see, for each change of a caller with limited access. */
  readonly seen: ReadonlyMap<Kept, ReadonlyMap<string, Target>>
  /** True when all changes are of callers with unrestricted access. */
  readonly isOpen: boolean
}

/** Targets that this transaction has written itself exist. */
export const wantedBy = (
  references: References,
  kept: readonly Kept[],
  known: TargetCache,
  ownUrl: OwnUrl | undefined,
): Wanted => {
  const own = kept.length === 1 ? NONE : new Set(kept.map(({ change: { version } }) => keyOf(version)))
  const held = new Map<string, Target>()
  const seen = new Map<Kept, ReadonlyMap<string, Target>>()
  let isOpen = true
  for (const one of kept) {
    const { restricted } = one.change
    let before: ReadonlySet<string> | undefined
    const toSee = new Map<string, Target>()
    if (restricted !== undefined) isOpen = false
    for (const { text, pointing } of one.references) {
      if (pointing.to !== 'here') continue
      const { target } = pointing
      if (target.version === undefined) {
        const key = keyIn(text, target)
        if (own.has(key) || (restricted === undefined && known.has(key))) continue
      }
      if (restricted === undefined || restricted.names(target)) held.set(text, target)
      else {
        before ??= namedBefore(references, one.change, ownUrl)
        if (!before.has(versionKey(target))) toSee.set(text, target)
      }
    }
    if (toSee.size > 0) seen.set(one, toSee)
  }
  return { held, seen, isOpen }
}

/**
 * Texts of references that a change may not hold; the value is true where the target exists and is hidden from the
 * caller.
 */
export type MissingTexts = ReadonlyMap<string, boolean>
const NO_TEXTS: ReadonlyMap<string, boolean> = new Map()

export type Missing = (kept: Kept) => MissingTexts

export const NOTHING_MISSING: Missing = () => NO_TEXTS

/** Up to so many changes are decided without yielding to the event loop. */
const FEW = 32

/** The same for many changes, yielding to the event loop in between. */
const decidedAll = async (all: readonly Kept[], missingOf: Missing, gone: MissingTexts): Promise<Missing> => {
  const decided = new Map<Kept, MissingTexts>()
  const pause = createPause()
  for (const kept of all) {
    decided.set(kept, missingOf(kept))
    await pause()
  }
  return (kept) => decided.get(kept) ?? gone
}

/** Targets are locked in the order of `Type/id`, as changes and deletions are, so that transactions cannot deadlock. */
const inLockOrder = (targets: ReadonlyMap<string, Target>): readonly [string, Target][] => {
  const all = [...targets]
  if (all.length < 2) return all
  const keyed = all.map((one) => ({ one, key: keyOf(one[1]) }))
  return keyed.sort((a, b) => byLockKey(a.key, b.key)).map(({ one }) => one)
}

/** Runs at most two statements, whatever the number of changes. */
export const lookFor = (
  references: References,
  transaction: Transaction,
  { held, seen }: Wanted,
): MaybePromise<Missing> => {
  const wanted = inLockOrder(held)
  const texts = wanted.map(([text]) => text)
  const named = new Map<string, Target>()
  for (const targets of seen.values()) for (const [text, target] of targets) named.set(text, target)
  const toSee = new Map(inLockOrder(named))
  const there: MaybePromise<ReadonlySet<number>> =
    held.size === 0
      ? new Set<number>()
      : references.held(
          transaction,
          wanted.map(([, target]) => target),
        )
  return chain(there, (places) => {
    const lost = places.size === held.size ? [] : texts.filter((_text, at) => !places.has(at))
    const gone: MissingTexts = lost.length === 0 ? NO_TEXTS : new Map(lost.map((text) => [text, false]))
    if (toSee.size === 0) return gone === NO_TEXTS ? NOTHING_MISSING : () => gone
    return chain(references.find(transaction, [...toSee.values()]), (found) => {
      const byText = new Map([...toSee.keys()].map((text, at) => [text, found[at]]))
      const missingOf: Missing = (kept) => {
        const missing = new Map(gone)
        for (const text of seen.get(kept)?.keys() ?? []) {
          const version = byText.get(text)
          if (version === undefined) missing.set(text, false)
          else if (kept.change.restricted?.sees(version) !== true) missing.set(text, true)
        }
        return missing
      }
      return seen.size <= FEW ? missingOf : decidedAll([...seen.keys()], missingOf, gone)
    })
  })
}
