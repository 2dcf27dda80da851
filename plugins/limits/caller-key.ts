/**
 * The key of callers that share a limit: a client with its user, or an address where there is no token. Spec:
 * Authentication 8.
 */
import type { RequestContext } from '../../kernel/index.ts'

const GROUPS = 8
const NETWORK_GROUPS = 4 // a /64: one caller usually has all of its addresses

/** An IPv4 address stands for one caller, and so does an IPv6 network of 64 bits. */
export const networkOf = (address: string): string => {
  if (!address.includes(':')) return address
  const [bare = ''] = address.split('%')
  const [left = '', right] = bare.split('::')
  const before = left === '' ? [] : left.split(':')
  const after = right === undefined || right === '' ? [] : right.split(':')
  const between = right === undefined ? 0 : GROUPS - before.length - after.length
  const groups = [...before, ...Array<string>(Math.max(0, between)).fill('0'), ...after]
  return `${groups
    .slice(0, NETWORK_GROUPS)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':')}::/64`
}

/** A different text for each caller. It begins with a line end for a client, which no address does. */
export const callerKey = ({ caller: { client, user }, address }: RequestContext): string =>
  client === undefined ? networkOf(address) : `\n${client}\n${user ?? ''}`
