/**
 * The client's address behind trusted proxies. Spec: [server] trusted_proxy_hops, trusted_proxy_peers.
 * With N hops the Nth entry from the right of X-Forwarded-For is the client; what stands further left is the
 * client's own text. Anything that is not exactly an address falls back to the connection's address.
 */
import { BlockList, isIP } from 'node:net'
import { PeerRange } from './errors.ts'

export interface ProxyTrust {
  /** Reverse proxies between clients and the server; 0 ignores X-Forwarded-For. */
  readonly hops: number
  /** CIDR ranges the proxies connect from. */
  readonly peers: readonly string[]
}

const MAPPED = /^::ffff:(\d{1,3}(?:\.\d{1,3}){3})$/i

/** `::ffff:1.2.3.4` is 1.2.3.4: one client has one spelling. */
const unmapped = (address: string): string => MAPPED.exec(address)?.[1] ?? address

/** One entry of X-Forwarded-For → an address, or undefined. Takes `1.1.1.1:5555` and `[2001:db8::7]:443`. */
const readEntry = (entry: string): string | undefined => {
  const bracketed = /^\[([^\]]+)\](?::\d{1,5})?$/.exec(entry)
  const bare = bracketed?.[1] ?? (/^[^:]+:\d{1,5}$/.test(entry) ? entry.slice(0, entry.indexOf(':')) : entry)
  if (bracketed !== null && isIP(bare) !== 6) return undefined
  return isIP(bare) === 0 ? undefined : unmapped(bare)
}

const readRanges = (peers: readonly string[]): BlockList => {
  const ranges = new BlockList()
  for (const peer of peers) {
    const [address = '', bits, ...rest] = peer.split('/')
    const family = isIP(address)
    const most = family === 4 ? 32 : 128
    const prefix = bits === undefined ? most : Number(bits)
    if (family === 0 || rest.length > 0 || bits === '' || !Number.isInteger(prefix) || prefix < 0 || prefix > most)
      throw PeerRange(peer)
    ranges.addSubnet(address, prefix, family === 4 ? 'ipv4' : 'ipv6')
  }
  return ranges
}

/** Returns a function from the connection's address and all X-Forwarded-For lines to the client's address. */
export const createAddressReader = (trust: ProxyTrust) => {
  const ranges = readRanges(trust.peers)
  return (peer: string, forwarded: string | readonly string[] | undefined): string => {
    const connection = unmapped(peer)
    if (trust.hops === 0 || forwarded === undefined) return connection
    const family = isIP(connection)
    if (family === 0 || !ranges.check(connection, family === 4 ? 'ipv4' : 'ipv6')) return connection
    const entries = (typeof forwarded === 'string' ? forwarded : forwarded.join(',')).split(',')
    const entry = entries[entries.length - trust.hops]
    return (entry === undefined ? undefined : readEntry(entry.trim())) ?? connection
  }
}
