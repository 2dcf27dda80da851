/** A page of an expansion: what the filter and other parameters of $expand leave, from an offset on. */
import { createPause } from '../../kernel/index.ts'
import { displayOf } from './display.ts'
import { PageNeeded } from './errors.ts'
import { type ExpandedCode, type ExpandedCodes, MAX_CODES } from './expanded-codes.ts'
import { type IndexedPart, toExpanded } from './indexed-part.ts'
import { matchesText, toMatchText, toSearchedText } from './match-text.ts'
import type { PlaceSet } from './place-set.ts'

export interface PageAsked {
  /** Name of the value set, for messages. */
  readonly name: string
  /** The code or a word of the display begins with it. */
  readonly filter?: string | undefined
  readonly language?: string | undefined
  /** Codes that are left out. */
  readonly without?: {
    readonly inactive: boolean
    readonly abstract: boolean
    system(url: string, version: string | undefined): boolean
  }
  readonly offset: number
  /** Undefined for all. */
  readonly count: number | undefined
}

export interface ExpansionPage {
  /** Number of codes of all pages. */
  readonly total: number
  readonly codes: readonly ExpandedCode[]
  /** The versions of code systems that the whole value set has codes of. */
  readonly versions: readonly { readonly system: string; readonly version: string }[]
  /** Whether the value set has, or may have, several versions of a code. */
  isSeveral(one: ExpandedCode): boolean
}

interface Parts {
  readonly listed: ExpandedCodes
  readonly parts: readonly IndexedPart[]
}

const ALL = { inactive: false, abstract: false, system: () => false }

/** Whether a display matches, with the language; the filter is a match text. */
const matches = (one: ExpandedCode, filter: string, language: string | undefined): boolean =>
  matchesText(toMatchText(one.code), toSearchedText(displayOf(one, language) ?? ''), filter)

/**
 * The index positions of the concepts of a part whose texts match. The index has no displays of supplements, so concepts that a
 * supplement changes are compared one by one.
 */
const matchingPlaces = async (part: IndexedPart, text: string, language: string | undefined): Promise<PlaceSet> => {
  const found = await part.source.matching(text, language)
  if (part.supplements.length === 0) return found
  const own = found.copy()
  const filter = toMatchText(text)
  const codes = part.supplements.flatMap((one) => [...one.concepts.keys()])
  for (const concept of (await part.source.findAll(codes)).values()) {
    if (matches(toExpanded(part, concept), filter, language)) own.add(concept.place)
    else own.delete(concept.place)
  }
  return own
}

const shownPlaces = async (part: IndexedPart, { filter, language, without = ALL }: PageAsked): Promise<PlaceSet> => {
  const shown = part.places.copy()
  if (without.inactive) shown.remove(await part.source.marked('inactive'))
  if (without.abstract) shown.remove(await part.source.marked('abstract'))
  if (filter !== undefined) shown.keep(await matchingPlaces(part, filter, language))
  return shown
}

/** Codes that the listed ones have in several versions, and all of systems that several parts are of. */
const severalIn = (listed: ExpandedCodes, parts: readonly IndexedPart[]): ExpansionPage['isSeveral'] => {
  const versions = Map.groupBy(parts, ({ common }) => common.system)
  const isOften = (system: string): boolean =>
    new Set(versions.get(system)?.map(({ common }) => common.version) ?? []).size > 1
  return ({ system, code }) =>
    listed.find(system, code).filter((one) => one.code === code && !one.isUnknown).length > 1 || isOften(system)
}

type Version = ExpansionPage['versions'][number]

const createVersions = () => {
  const found = new Map<string, Version>()
  let last: Pick<ExpandedCode, 'system' | 'version'> | undefined
  return {
    add({ system, version }: Pick<ExpandedCode, 'system' | 'version'>): void {
      // Codes of one system stand one behind the other.
      if (version === undefined || (last?.system === system && last.version === version)) return
      last = { system, version }
      found.set(`${system}|${version}`, { system, version })
    },
    all: (): readonly Version[] => [...found.values()],
  }
}

/** Throws 400 for more codes than an answer may have. */
export const expansionPage = async ({ listed, parts }: Parts, asked: PageAsked): Promise<ExpansionPage> => {
  const { filter, language, without = ALL, offset, count, name } = asked
  const wanted = filter === undefined ? undefined : toMatchText(filter)
  const isShown = (one: ExpandedCode): boolean =>
    !(without.inactive && one.isInactive) &&
    !(without.abstract && one.isAbstract) &&
    !without.system(one.system, one.version) &&
    (wanted === undefined || matches(one, wanted, language))
  const versions = createVersions()
  const found: ExpandedCode[] = []
  const pause = createPause()
  for (const one of listed.codes) {
    if (one.isUnknown) continue
    versions.add(one)
    if (isShown(one)) found.push(one)
    await pause()
  }
  for (const { common, places } of parts) if (places.count > 0) versions.add(common)
  const codes = found.slice(offset, count === undefined ? undefined : offset + count)
  let total = found.length
  for (const part of parts) {
    if (without.system(part.common.system, part.common.version)) continue
    const places = await shownPlaces(part, asked)
    const skipped = Math.max(0, offset - total)
    const size = places.count
    total += size
    const most = Math.min(size, (count ?? Number.POSITIVE_INFINITY) - codes.length)
    if (codes.length + Math.min(most, size - skipped) > MAX_CODES) throw PageNeeded(name.slice(0, 200), MAX_CODES)
    if (most > 0 && skipped < size)
      for (const concept of await part.source.at(places.slice(skipped, most))) codes.push(toExpanded(part, concept))
  }
  return { total, codes, versions: versions.all(), isSeveral: severalIn(listed, parts) }
}
