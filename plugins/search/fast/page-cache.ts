/**
 * Caches pages of searches of frequent shapes by address: the versions found and, from the second request on, the
 * entries that were sent. A page is valid as long as the meaning of parameters is the same and nothing was written
 * under its keys, and shown only while no other process writes.
 */
import type { OwnUrl } from '../../../kernel/index.ts'
import { createAdmissionFilter } from '../../storage/service.ts'
import type { ChangeCounters } from '../index/change-counters.ts'

/** The base URL of the links, and the URL under which absolute references are local. */
export interface PageUrls {
  readonly baseUrl: string
  readonly ownUrl: OwnUrl | undefined
}

export interface CachedPage extends PageUrls {
  readonly type: string
  /** The state of the registry: another object when the meaning of parameters has changed. */
  readonly meaning: object
  /** Counters (change-counters.ts) that cover the page, and their sum before it was found. */
  readonly keys: readonly number[]
  readonly changes: number
  /** The parameters as page links repeat them. */
  readonly text: string
  readonly count: number
  readonly rows: readonly CachedRow[]
  /** The entries as they were sent. Undefined until `answered` is called, or when there is no room. */
  entries: CachedEntries | undefined
}

/** The entries of a searchset, as text; `hasLinks`: with its total and links in front of them. */
export interface CachedEntries {
  readonly text: string
  readonly hasLinks: boolean
  /** Bytes of the text. */
  readonly length: number
  /** References of the patients whose data the entries are, without duplicates. */
  patients(): readonly string[]
}

export interface CachedRow {
  readonly rid: number
  readonly ver: number
}

export interface PageCache {
  /** The cached page, if it is still valid. */
  get(url: string, type: string, urls: PageUrls, meaning: object): CachedPage | undefined
  /** To be called before a search; `put` needs the result. Undefined where its page must not be cached. */
  look(keys: readonly number[]): number | undefined
  /** Caches a page, unless something under its keys has changed since `look`, which is `changes`. */
  put(url: string, page: Omit<CachedPage, 'entries'>): void
  /** Called when a page was answered: caches the result of `make` if there is room. `length`: its bytes. */
  answered(page: CachedPage, length: number, make: () => CachedEntries): void
}

/** No cache: every search queries the database. */
export const NO_PAGES: PageCache = {
  get: () => undefined,
  look: () => undefined,
  put: () => undefined,
  answered: () => undefined,
}

const ADMISSION_SLOTS = 16_384 // a power of two; each slot remembers one address that was requested once
const MAX_ROWS = 100
/** Longer entries are not cached, because building them is a small part of the request. */
const MAX_ENTRY_BYTES = 8_192

const hashOf = (url: string): number => {
  let hash = url.length
  for (let at = 0; at < url.length; at += 1) hash = Math.imul(hash ^ url.charCodeAt(at), 0x9e3779b1)
  return (hash ^ (hash >>> 15)) >>> 0
}

/**
 * Holds two generations, each of up to `most` pages and `mostBytes` bytes of entries: recently used pages, and those
 * used before. A page is cached when it is found for the second time, because most are requested once.
 */
export const createPageCache = (
  changes: Pick<ChangeCounters, 'look' | 'isUnchanged' | 'isSole'>,
  most: number,
  mostBytes: number,
): PageCache => {
  const wasMet = createAdmissionFilter(ADMISSION_SLOTS)
  let lately = new Map<string, CachedPage>()
  let before = new Map<string, CachedPage>()
  /** Bytes of the entries in the recent generation. */
  let bytes = 0
  const takeRoom = (length: number): boolean => {
    if (length > MAX_ENTRY_BYTES || bytes + length > mostBytes) return false
    bytes += length
    return true
  }
  const put = (url: string, page: CachedPage): void => {
    if (lately.size >= most) {
      before = lately
      lately = new Map()
      bytes = 0
    }
    lately.set(url, page)
    if (page.entries !== undefined && !takeRoom(page.entries.length)) page.entries = undefined
  }
  return {
    get(url, type, { baseUrl, ownUrl }, meaning) {
      const recent = lately.get(url)
      const page = recent ?? before.get(url)
      if (page === undefined) return undefined
      const isGood =
        page.meaning === meaning &&
        page.baseUrl === baseUrl &&
        page.ownUrl === ownUrl &&
        page.type === type &&
        changes.isUnchanged(page.keys, page.changes) &&
        changes.isSole()
      if (!isGood) return undefined
      if (recent === undefined) put(url, page)
      return page
    },
    look: changes.look,
    put(url, page) {
      if (page.rows.length > MAX_ROWS || !wasMet(hashOf(url)) || !changes.isUnchanged(page.keys, page.changes)) return
      // Drops bodies that the rows may have.
      const rows = page.rows.map(({ rid, ver }) => ({ rid, ver }))
      put(url, { ...page, rows, entries: undefined })
    },
    answered(page, length, make) {
      if (page.entries === undefined && takeRoom(length)) page.entries = make()
    },
  }
}
