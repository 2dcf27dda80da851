/** The grammar of scopes, versions 1 and 2. Text that does not match it exactly is not a scope; nothing is guessed. */

import type { Rights } from '../../../kernel/index.ts'
import { decodeFormText } from '../decode-form-text.ts'
import type { Scope, ScopeLevel } from './scope.ts'

/** Scopes with a fixed name. */
export const CONTEXT_SCOPES: readonly string[] = [
  'openid',
  'fhirUser',
  'launch',
  'launch/patient',
  'launch/encounter',
  'offline_access',
  'online_access',
]

/** What the words of version 1 mean in version 2. */
export const VERSION_1: ReadonlyMap<string, Rights> = new Map([
  ['read', 'rs'],
  ['write', 'cud'],
  ['*', 'cruds'],
])

const MAX_LENGTH = 1000 // characters of a scope

const TOKEN = /^[\x21\x23-\x5b\x5d-\x7e]+$/ // RFC 6749, appendix A.4
const RESOURCE = /^(patient|user|system)\/([A-Z][A-Za-z]*|\*)\.([a-z]+|\*)(?:\?(.*))?$/
const RIGHTS = /^(?=.)c?r?u?d?s?$/
// Modifiers and chains are not allowed: SMART calls them experimental, and the server allows no change under a
// condition that only the index can decide.
const PARAMETER = /^[A-Za-z][A-Za-z0-9_-]*$/
/** Search parameters of all types that describe the resource itself. */
export const COMMON_PARAMETERS: ReadonlySet<string> = new Set([
  '_id',
  '_lastUpdated',
  '_profile',
  '_security',
  '_source',
  '_tag',
])

const isCondition = (pair: string): boolean => {
  const at = pair.indexOf('=')
  const name = pair.slice(0, at)
  if (at < 1 || !(PARAMETER.test(name) || COMMON_PARAMETERS.has(name))) return false
  const value = decodeFormText(pair.slice(at + 1))
  // Searches ignore an empty value. In a scope that would grant more than what was written, so the scope is invalid.
  return value !== undefined && !/\p{Cc}/u.test(value) && value.split(',').every((one) => one.trim() !== '')
}

/**
 * Undefined for text that is not a scope of this server. Does not check whether the type and the parameters are
 * installed.
 */
export const parseScope = (text: string): Scope | undefined => {
  if (text.length > MAX_LENGTH || !TOKEN.test(text)) return undefined
  if (CONTEXT_SCOPES.includes(text)) return { kind: 'context', text }
  const [, level, type, word = '', query] = RESOURCE.exec(text) ?? []
  if (level === undefined || type === undefined) return undefined
  const old = VERSION_1.get(word)
  const rights = old ?? (RIGHTS.test(word) ? (word as Rights) : undefined)
  if (rights === undefined || (query !== undefined && old !== undefined)) return undefined
  const conditions = query === undefined ? [] : query.split('&')
  if (!conditions.every(isCondition)) return undefined
  return {
    kind: 'resource',
    text,
    level: level as ScopeLevel,
    type,
    rights,
    version: old === undefined ? 2 : 1,
    conditions,
  }
}
