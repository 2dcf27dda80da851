/**
 * The client's address behind trusted proxies. Spec: [server] trusted_proxy_hops, trusted_proxy_peers.
 * With N hops the Nth entry from the right of X-Forwarded-For is the client; what stands further left is the
 * client's own text. Anything that is not exactly an address falls back to the connection's address.
 */
import { BlockList, isIP, SocketAddress } from 'node:net'
import { PeerRange } from './errors.ts'

export interface ProxyTrust {
  /** Reverse proxies between clients and the server; 0 ignores X-Forwarded-For. */
  readonly hops: number
  /** CIDR ranges the proxies connect from. */
  readonly peers: readonly string[]
}

const MAPPED = /^::ffff:(\d{1,3}(?:\.\d{1,3}){3})$/i

/** Writes `::ffff:1.2.3.4` as `1.2.3.4`, so that one client has one spelling. */
const unmapped = (address: string): string => MAPPED.exec(address)?.[1] ?? address

/** `2001:DB8:0::7` and `::ffff:101:101` as the socket would spell them. */
const canonical = (address: string): string =>
  isIP(address) === 6 ? unmapped(new SocketAddress({ address, family: 'ipv6' }).address) : address

/** `1.1.1.1:5555`, `[2001:db8::7]:443`, `[2001:db8::7]`. */
const WITH_PORT = /^(?:\[([^\]]+)\](?::(\d{1,5}))?|([^:]+):(\d{1,5}))$/
const MAX_PORT = 65_535

/**
 * Parses an entry of X-Forwarded-For; undefined when it is not an address. A zone (`fe80::1%eth0`) is valid on its own
 * machine only.
 */
const readEntry = (entry: string): string | undefined => {
  const [, inBrackets, portAfter, beforePort, port = portAfter] = WITH_PORT.exec(entry) ?? []
  const bare = inBrackets ?? beforePort ?? entry
  const family = isIP(bare)
  if (family === 0 || bare.includes('%') || Number(port ?? 0) > MAX_PORT) return undefined
  if (inBrackets !== undefined && family !== 6) return undefined
  return canonical(bare)
}

const RANGE = /^([0-9a-fA-F:.]+)(?:\/(\d{1,3}))?$/

const readRanges = (peers: readonly string[]): BlockList => {
  const ranges = new BlockList()
  for (const peer of peers) {
    const [, address = '', bits] = RANGE.exec(peer) ?? []
    const family = isIP(address)
    const most = family === 4 ? 32 : 128
    const prefix = Number(bits ?? most)
    if (family === 0 || prefix > most) throw PeerRange(peer)
    ranges.addSubnet(address, prefix, family === 4 ? 'ipv4' : 'ipv6')
  }
  return ranges
}

/**
 * A sentence for the log about a proxy setting that has no effect because the other one is missing; undefined when both
 * or neither are set.
 */
export const idleTrust = ({ hops, peers }: ProxyTrust): string | undefined => {
  if (hops > 0 && peers.length === 0)
    return `[server] trusted_proxy_hops is ${hops} and trusted_proxy_peers is empty: X-Forwarded-For is ignored, and every client has the address of its connection; name the networks of the proxies`
  if (hops === 0 && peers.length > 0)
    return '[server] trusted_proxy_peers is set and trusted_proxy_hops is 0: X-Forwarded-For is ignored; set the number of proxies'
  return undefined
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
