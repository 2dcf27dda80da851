/**
 * Environment variables with our prefix that are not ours. They cause a warning only, because other programs may set
 * SERVER_NAME and the like.
 */

import { type Setting, variablesOf, waysToSet } from '../kernel/settings/annotation.ts'
import { closestKey } from '../kernel/settings/closest-key.ts'

const PREFIX = 'SERVER_'

export interface UnknownVariable {
  readonly variable: string
  /** The warning, with the name that was probably meant. Never the value: a misspelt secret is still a secret. */
  readonly about: string
}

/**
 * Kubernetes sets these for a service called "server" or "server-smart", in every container of the namespace.
 * https://kubernetes.io/docs/concepts/services-networking/service/#environment-variables
 */
const isServiceLink = (variable: string, value: string | undefined): boolean =>
  /^SERVER_(\w+_)?(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT_\d+_(TCP|UDP|SCTP)(_PROTO|_PORT|_ADDR)?)$/.test(variable) ||
  (/^SERVER_(\w+_)?PORT$/.test(variable) && /^(tcp|udp|sctp):\/\//.test(value ?? ''))

export const unknownVariables = (
  environment: Readonly<Record<string, string | undefined>>,
  settings: readonly Setting[],
): readonly UnknownVariable[] => {
  const known = new Set(['SERVER_CONFIG', ...settings.flatMap(({ schema }) => variablesOf(schema))])
  const words = [...known].filter((name) => name.startsWith(PREFIX)).map((name) => name.slice(PREFIX.length))
  const aboutOf = (variable: string): string => {
    const word = variable.slice(PREFIX.length)
    const near = closestKey(word, words)
    const none = `${variable} is no variable of this server and does nothing`
    if (near !== undefined) return `${none}; ${PREFIX}${near} is one`
    const meant = settings.find(({ key, path }) => [key, path.replaceAll('.', '_')].includes(word.toLowerCase()))
    if (meant !== undefined) return `${none}; set ${waysToSet(meant).join(' or ')}`
    return `${none}; server config lists the settings`
  }
  return Object.keys(environment)
    .filter((name) => name.startsWith(PREFIX) && !known.has(name) && !isServiceLink(name, environment[name]))
    .map((variable) => ({ variable, about: aboutOf(variable) }))
}
