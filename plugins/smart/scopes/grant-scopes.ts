/** Which of the scopes that are asked for a client may have. RFC 6749, section 3.3 */
import { narrowScope } from './narrow-scope.ts'
import { parseScope } from './parse-scope.ts'
import type { ResourceScope, Scope } from './scope.ts'

const MAX_SCOPES = 200 // in one request, and of one client

const read = (list: string): readonly Scope[] => {
  const texts = [...new Set(list.split(' '))].filter((text) => text !== '')
  return texts.length > MAX_SCOPES ? [] : texts.flatMap((text) => parseScope(text) ?? [])
}

const isResource = (scope: Scope): scope is ResourceScope => scope.kind === 'resource'

/**
 * A list separated by spaces, in the order and version that was asked for; empty when nothing is left. What is no scope is
 * left out, and more than 200 of them are none.
 *
 * `allowed` is the `scope` of the client's registration. Where it is undefined, a user flow may have everything of its level,
 * for its user consents; a client alone has nothing, for nobody does. `system` grants `system/` scopes only, `user` all others.
 */
export const grantScopes = (asked: string, allowed: string | undefined, level: 'system' | 'user'): string => {
  const isOfLevel = (scope: Scope): boolean =>
    isResource(scope) ? (scope.level === 'system') === (level === 'system') : level === 'user'
  const wanted = read(asked).filter(isOfLevel)
  if (allowed === undefined) return level === 'system' ? '' : wanted.map(({ text }) => text).join(' ')
  const registered = read(allowed)
  const names = new Set(registered.map(({ text }) => text))
  const resources = registered.filter(isResource)
  const granted = wanted.flatMap((scope) =>
    isResource(scope) ? narrowScope(scope, resources) : names.has(scope.text) ? [scope.text] : [],
  )
  return [...new Set(granted)].join(' ')
}
