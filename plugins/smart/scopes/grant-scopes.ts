/** Decides which of the requested scopes a client gets. RFC 6749, section 3.3 */
import { narrowScope } from './narrow-scope.ts'
import { parseScope } from './parse-scope.ts'
import type { ResourceScope, Scope } from './scope.ts'

const MAX_SCOPES = 200 // in one request, and in one registration

const read = (list: string): readonly Scope[] => {
  const texts = [...new Set(list.split(' '))].filter((text) => text !== '')
  return texts.length > MAX_SCOPES ? [] : texts.flatMap((text) => parseScope(text) ?? [])
}

const isResource = (scope: Scope): scope is ResourceScope => scope.kind === 'resource'

/**
 * The granted scopes, separated by spaces, in the requested order and version; empty when none is granted. Text that is
 * not a scope is dropped; a list of more than 200 scopes counts as empty.
 *
 * `allowed` is the `scope` of the client's registration. When it is undefined, a user flow gets every requested scope
 * of its level, because the user consents; a client that acts for itself gets none, because nobody consents. `system`
 * grants only `system/` scopes, `user` all others.
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
