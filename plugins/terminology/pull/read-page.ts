/** Reads a page of a search: the definitions, and the link to the next page. https://hl7.org/fhir/R4/bundle.html#searchset */
import { createHash } from 'node:crypto'
import { PullRefused } from '../errors.ts'
import { shownUrl } from './fetch-page.ts'

type Json = Readonly<Record<string, unknown>>

const MAX_URL = 500 // characters of a canonical, which an index entry of PostgreSQL has room for
const MAX_VERSION = 200
const MAX_LINK = 8_000
const ID = /^[A-Za-z0-9\-.]{1,64}$/
/** PostgreSQL stores no NUL, and no half of a surrogate pair. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it finds
const CONTROL = /[\u0000-\u001f]/

export interface PageDefinition {
  /** The id at the source; where it has none, a hash of what it is called. */
  readonly name: string
  readonly url: string
  readonly version: string | undefined
  readonly status: string | undefined
  readonly resource: Json
}

export interface Page {
  readonly definitions: readonly PageDefinition[]
  /** What the source says there is in all. */
  readonly total: number | undefined
  readonly next: URL | undefined
}

const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value)
const listOf = (value: unknown): readonly Json[] => (Array.isArray(value) ? value.filter(isObject) : [])
const isText = (value: unknown, most: number): value is string =>
  typeof value === 'string' && value !== '' && value.length <= most && !CONTROL.test(value) && value.isWellFormed()

const toDefinition = (resource: Json): readonly PageDefinition[] => {
  const { id, url, version, status } = resource
  if (!isText(url, MAX_URL) || (version !== undefined && !isText(version, MAX_VERSION))) return []
  const hash = (): string =>
    createHash('sha256')
      .update(JSON.stringify([url, version]))
      .digest('hex')
  const name = typeof id === 'string' && ID.test(id) ? id : hash()
  return [{ name, url, version, status: isText(status, MAX_VERSION) ? status : undefined, resource }]
}

/** `from`: the URL of this page. Throws `PullRefused` for what is no page of a search, or goes on at another origin. */
export const readPage = (text: string, type: string, from: URL): Page => {
  let bundle: unknown
  try {
    bundle = JSON.parse(text)
  } catch {
    throw PullRefused(shownUrl(from), 'its answer is not JSON')
  }
  if (!isObject(bundle) || bundle.resourceType !== 'Bundle')
    throw PullRefused(shownUrl(from), 'its answer is no Bundle')
  const resources = listOf(bundle.entry)
    .map(({ resource }) => resource)
    .filter((one): one is Json => isObject(one) && one.resourceType === type)
  const [link] = listOf(bundle.link).filter(({ relation }) => relation === 'next')
  let next: URL | undefined
  if (link !== undefined) {
    const found = typeof link.url === 'string' && link.url.length <= MAX_LINK ? URL.parse(link.url, from.href) : null
    if (found === null) throw PullRefused(shownUrl(from), 'its link to the next page is no URL')
    if (found.origin !== from.origin || found.username !== '' || found.password !== '')
      throw PullRefused(shownUrl(from), `its link to the next page leads to another origin, ${found.origin}`)
    if (found.href === from.href) throw PullRefused(shownUrl(from), 'its link to the next page leads to the same page')
    next = found
  }
  const { total } = bundle
  return {
    definitions: resources.flatMap(toDefinition),
    total: Number.isSafeInteger(total) ? (total as number) : undefined,
    next,
  }
}
