/** If-Match, If-None-Match, If-Modified-Since, If-Unmodified-Since. RFC 9110, section 13; https://hl7.org/fhir/R4/http.html#concurrency */
import type { IncomingHttpHeaders } from 'node:http'
import type { Precondition, StoredVersion } from '../../storage/service.ts'
import { ConditionHeader, HeaderMalformed } from '../errors.ts'
import { readHttpDate } from './http-date.ts'

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

/** The preconditions on the current version; undefined when the headers have none. Throws 400. */
export const readPrecondition = (headers: IncomingHttpHeaders): Precondition | undefined => {
  const match = headers['if-match']
  const none = headers['if-none-match']
  const since = headers['if-unmodified-since']
  if (headers['if-none-exist'] !== undefined)
    throw ConditionHeader(
      'If-None-Exist',
      'an update, patch or deletion',
      'POST the resource with it, or send its criteria in the address: PUT [type]?[criteria]',
    )
  if (match === undefined && none === undefined && since === undefined) return undefined
  if (none !== undefined && none.trim() !== '*') throw HeaderMalformed('If-None-Match', '* on a change')
  // RFC 9110, section 13.1.4: ignored when there is an If-Match, and when it is not a date.
  const unmodifiedSince = match === undefined && since !== undefined ? readHttpDate(since) : undefined
  return {
    ...(match === undefined ? {} : { ifMatch: readTags('If-Match', match) }),
    ...(none === undefined ? {} : { ifNoneMatch: true }),
    ...(unmodifiedSince === undefined ? {} : { unmodifiedSince }),
  }
}

/** Throws 400 for If-Match and If-None-Match on a create, which has no current version to compare. */
export const refusePrecondition = (headers: IncomingHttpHeaders): void => {
  if (headers['if-match'] !== undefined)
    throw ConditionHeader('If-Match', 'a create', 'PUT to the id of the resource to change the version it names')
  if (headers['if-none-match'] !== undefined)
    throw ConditionHeader(
      'If-None-Match',
      'a create',
      'Send If-None-Exist with criteria, or PUT to an id with If-None-Match',
    )
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
