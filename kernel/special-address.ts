/**
 * Addresses outside the public internet: this machine, private networks, the metadata services of clouds. A URL that a
 * client names must not lead there. IANA special-purpose address registries, RFC 6890.
 */
import { BlockList, isIP } from 'node:net'

const IPV4: readonly (readonly [string, number])[] = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
]
/** The only global range of IPv6. The subnets in `IPV6` lie inside it, but are reserved or lead to other networks. */
const GLOBAL_IPV6: readonly [string, number] = ['2000::', 3]
const IPV6: readonly (readonly [string, number])[] = [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
]

const special = new BlockList()
for (const [net, bits] of IPV4) special.addSubnet(net, bits, 'ipv4')
for (const [net, bits] of IPV6) special.addSubnet(net, bits, 'ipv6')
const global = new BlockList()
global.addSubnet(...GLOBAL_IPV6, 'ipv6')

/**
 * True for a special address, and for text that is not an address. An IPv4 address written as IPv6 (`::ffff:1.2.3.4`)
 * is outside the global range, so it is special.
 */
export const isSpecialAddress = (address: string): boolean => {
  const kind = isIP(address)
  if (kind === 4) return special.check(address, 'ipv4')
  return kind !== 6 || special.check(address, 'ipv6') || !global.check(address, 'ipv6')
}
