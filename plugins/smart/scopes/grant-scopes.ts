/** Decides which of the requested scopes a client gets. RFC 6749, section 3.3 */
import { TooManyScopes } from '../oauth-errors.ts'
import { narrowScope } from './narrow-scope.ts'
import { parseScope } from './parse-scope.ts'
import type { ResourceScope, Scope } from './scope.ts'

const MAX_SCOPES = 128 // in one request

const textsOf = (list: string): readonly string[] => [...new Set(list.split(' '))].filter((text) => text !== '')
const read = (texts: readonly string[]): readonly Scope[] => texts.flatMap((text) => parseScope(text) ?? [])

const isResource = (scope: Scope): scope is ResourceScope => scope.kind === 'resource'

/**
 * The granted scopes, separated by spaces, in the requested order and version; empty when none is granted. Text that is
 * not a scope is dropped. Throws `TooManyScopes` for more than 128.
 *
 * `allowed` is the `scope` of the client's registration. When it is undefined, a user flow gets every requested scope
 * of its level, because the user consents; a client that acts for itself gets none, because nobody consents. `system`
 * grants only `system/` scopes, `user` all others.
 */
export const grantScopes = (asked: string, allowed: string | undefined, level: 'system' | 'user'): string => {
  const isOfLevel = (scope: Scope): boolean =>
    isResource(scope) ? (scope.level === 'system') === (level === 'system') : level === 'user'
  const texts = textsOf(asked)
  if (texts.length > MAX_SCOPES) throw TooManyScopes(MAX_SCOPES)
  const wanted = read(texts).filter(isOfLevel)
  if (allowed === undefined) return level === 'system' ? '' : wanted.map(({ text }) => text).join(' ')
  const registered = read(textsOf(allowed))
  const names = new Set(registered.map(({ text }) => text))
  const resources = registered.filter(isResource)
  const granted = wanted.flatMap((scope) =>
    isResource(scope) ? narrowScope(scope, resources) : names.has(scope.text) ? [scope.text] : [],
  )
  return [...new Set(granted)].join(' ')
}
