/**
 * Pages that searches of a usual shape found, by the address that was asked: which versions, and what they were answered
 * with, once they were asked for again. One is good for as long as parameters mean what they meant and nothing was written
 * under its keys. Only where this process is the one writer.
 */
import type { OwnUrl } from '../../../kernel/index.ts'
import { createAdmissionFilter } from '../../storage/service.ts'
import type { ChangeCounters } from '../index/change-counters.ts'

/** The base of its links, and what decided which absolute references were this server's. */
export interface PageUrls {
  readonly baseUrl: string
  readonly ownUrl: OwnUrl | undefined
}

export interface CachedPage extends PageUrls {
  readonly type: string
  /** What parameters meant: an object of its own each time. */
  readonly meaning: object
  /** Keys of the index under which all of it stands, and what had changed there. */
  readonly keys: readonly number[]
  readonly changes: number
  /** The parameters as links repeat them. */
  readonly text: string
  readonly count: number
  readonly rows: readonly CachedRow[]
  /** As they are sent: they change no sooner than what was found. Undefined until `answered`, or for want of room. */
  entries: CachedEntries | undefined
}

/** The end of a searchset. */
export interface CachedEntries {
  readonly text: string
  /** Bytes of the text. */
  readonly length: number
  /** Whose data they are, each once. */
  patients(): readonly string[]
}

export interface CachedRow {
  readonly rid: number
  readonly ver: number
}

export interface PageCache {
  /** As good as asked for now. */
  get(url: string, type: string, urls: PageUrls, meaning: object): CachedPage | undefined
  /** Found now. */
  put(url: string, page: Omit<CachedPage, 'entries' | 'changes'>): void
  /** A page was answered: where there is room it keeps, for the next time, what `make` gives. `length`: its bytes. */
  answered(page: CachedPage, length: number, make: () => CachedEntries): void
}

/** The plain way: each search is asked of the database. */
export const NO_PAGES: PageCache = { get: () => undefined, put: () => undefined, answered: () => undefined }

const ADMISSION_SLOTS = 16_384 // a power of two; each remembers one address that was met once
const MAX_ROWS = 100
/** Of longer entries putting them together is the smaller part. */
const MAX_ENTRY_BYTES = 8_192

const hashOf = (url: string): number => {
  let hash = url.length
  for (let at = 0; at < url.length; at += 1) hash = Math.imul(hash ^ url.charCodeAt(at), 0x9e3779b1)
  return (hash ^ (hash >>> 15)) >>> 0
}

/**
 * Up to twice as many pages as `most`, with twice as many bytes of entries as `mostBytes`: those asked for lately, and
 * those before them. A page is kept when it is found a second time: most are asked for once.
 */
export const createPageCache = (
  changes: Pick<ChangeCounters, 'countersOf'>,
  most: number,
  mostBytes: number,
): PageCache => {
  const wasMet = createAdmissionFilter(ADMISSION_SLOTS)
  let lately = new Map<string, CachedPage>()
  let before = new Map<string, CachedPage>()
  /** Of the entries of those asked for lately. */
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
        page.changes === changes.countersOf(page.keys)
      if (!isGood) return undefined
      if (recent === undefined) put(url, page)
      return page
    },
    put(url, page) {
      if (page.rows.length > MAX_ROWS || !wasMet(hashOf(url))) return
      // Without the bodies that may have come with them.
      const rows = page.rows.map(({ rid, ver }) => ({ rid, ver }))
      put(url, { ...page, changes: changes.countersOf(page.keys), rows, entries: undefined })
    },
    answered(page, length, make) {
      if (page.entries === undefined && takeRoom(length)) page.entries = make()
    },
  }
}
