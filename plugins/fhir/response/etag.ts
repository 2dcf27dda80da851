/** If-Match, If-None-Match, If-Modified-Since. RFC 9110, section 13; https://hl7.org/fhir/R4/http.html#concurrency */
import type { IncomingHttpHeaders } from 'node:http'
import type { Precondition, StoredVersion } from '../../storage/service.ts'
import { HeaderMalformed } from '../errors.ts'

const TAG = /^\s*(?:W\/)?"([^"]*)"\s*$/
const MAX_CHARS = 1_000
/** Stands for a tag that this server did not make. No version has this number, so it matches nothing. */
const NO_VERSION = -1

export const toETag = (version: number): string => `W/"${version}"`

const readTags = (name: string, value: string): readonly number[] | '*' => {
  if (value.trim() === '*') return '*'
  if (value.length > MAX_CHARS) throw HeaderMalformed(name, 'W/"3"')
  return value.split(',').map((one) => {
    const tag = TAG.exec(one)?.[1]
    if (tag === undefined) throw HeaderMalformed(name, 'W/"3"')
    return /^[1-9]\d{0,9}$/.test(tag) ? Number(tag) : NO_VERSION
  })
}

/** The preconditions on the current version; undefined when the headers have none. */
export const readPrecondition = (headers: IncomingHttpHeaders): Precondition | undefined => {
  const match = headers['if-match']
  const none = headers['if-none-match']
  if (match === undefined && none === undefined) return undefined
  if (none !== undefined && none.trim() !== '*') throw HeaderMalformed('If-None-Match', '* on a change')
  return {
    ...(match === undefined ? {} : { ifMatch: readTags('If-Match', match) }),
    ...(none === undefined ? {} : { ifNoneMatch: true }),
  }
}

/** True when the client has this version already, so that the answer is 304. */
export const isUnchanged = (headers: IncomingHttpHeaders, version: StoredVersion): boolean => {
  const none = headers['if-none-match']
  if (none !== undefined) {
    const tags = readTags('If-None-Match', none)
    return tags === '*' || tags.includes(version.version)
  }
  const since = headers['if-modified-since']
  if (since === undefined) return false
  const moment = Date.parse(since)
  // RFC 9110, section 13.1.3: an invalid date is ignored. HTTP dates have whole seconds.
  return !Number.isNaN(moment) && Math.floor(version.lastUpdated / 1000) * 1000 <= moment
}
