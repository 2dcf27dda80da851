/**
 * Addresses of PostgreSQL: host, hostaddr and port of a connection string, with libpq's rules for several of them.
 * https://www.postgresql.org/docs/17/libpq-connect.html#LIBPQ-MULTIPLE-HOSTS
 */

import { isIP } from 'node:net'
import { counted } from '../../../kernel/index.ts'
import { ConninfoParameterValue, HostMissing } from './errors.ts'
import type { Parameters } from './parameters.ts'

const DEFAULT_PORT = 5432

export type Endpoint =
  | {
      readonly kind: 'tcp'
      /**
       * The name that the certificate must have, and that is resolved when there is no `address`. At least one of the
       * two is set.
       */
      readonly host: string | undefined
      /** hostaddr: connect here without resolving a name. */
      readonly address: string | undefined
      readonly port: number
    }
  | { readonly kind: 'unix'; readonly path: string; readonly port: number }

/** For messages: `db.test:5432`, `[::1]:5432`, `/run/pg/.s.PGSQL.5432`. */
export const describeEndpoint = (endpoint: Endpoint): string => {
  if (endpoint.kind === 'unix') return endpoint.path
  const { host, address, port } = endpoint
  const name = host ?? address ?? ''
  const where = `${name.includes(':') ? `[${name}]` : name}:${port}`
  return address === undefined || address === name ? where : `${where} (${address})`
}

/** In the order they are to be tried. Throws ParameterValue. */
export const readEndpoints = (parameters: Parameters): readonly Endpoint[] => {
  const hosts = list(parameters.get('host'))
  const addresses = list(parameters.get('hostaddr'))
  const ports = list(parameters.get('port'))
  const count = addresses?.length ?? hosts?.length
  if (count === undefined) throw HostMissing()
  if (hosts !== undefined && hosts.length !== count)
    throw ConninfoParameterValue('hostaddr', `a list as long as host (${hosts.length} and ${count} were given)`)
  if (ports !== undefined && ports.length !== 1 && ports.length !== count)
    throw ConninfoParameterValue(
      'port',
      `one number, or one for each of the ${count} hosts (${counted(ports.length, 'port')} given)`,
    )

  return Array.from({ length: count }, (_, index) => {
    const host = hosts?.[index] || undefined
    const address = addresses?.[index] || undefined
    const port = readPort((ports?.length === 1 ? ports[0] : ports?.[index]) ?? '')
    if (host === undefined && address === undefined) throw HostMissing()
    if (address === undefined && host?.startsWith('/')) return { kind: 'unix', path: `${host}/.s.PGSQL.${port}`, port }
    return {
      kind: 'tcp',
      host: host === undefined ? undefined : checkName(host),
      address: address === undefined ? undefined : checkAddress(address),
      port,
    }
  })
}

const list = (value: string | undefined): readonly string[] | undefined =>
  value === undefined || value === '' ? undefined : value.split(',')

const readPort = (text: string): number => {
  if (text === '') return DEFAULT_PORT
  const port = /^\s*\+?\d+\s*$/.test(text) ? Number(text) : 0
  if (port < 1 || port > 65_535) throw ConninfoParameterValue('port', 'a number from 1 to 65535')
  return port
}

const checkAddress = (address: string): string => {
  if (isIP(address) === 0) throw ConninfoParameterValue('hostaddr', 'an IPv4 or IPv6 address')
  return address
}

/**
 * Accepts a host name or address with one meaning only. `127.1`, `0x7f.1` and `192.000.002.001` are read differently by
 * different resolvers, and a certificate could be checked against another address than the one connected to.
 */
const checkName = (host: string): string => {
  if (host.startsWith('@')) throw ConninfoParameterValue('host', 'a directory: abstract Unix sockets are not supported')
  if (isIP(host) !== 0) return host
  const labels = host.replace(/\.$/, '').split('.')
  if (/^(?:\d+|0x[0-9a-f]*)$/i.test(labels.at(-1) ?? ''))
    throw ConninfoParameterValue(
      'host',
      'a name, or an IPv4 address in its plain form: four decimal numbers without leading zeros',
    )
  // Not repeated in the message: with an "@" or "/" left unencoded in a password, this is a piece of it.
  if (!labels.every((label) => /^[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?$/i.test(label)))
    throw ConninfoParameterValue(
      'host',
      'a name of letters, digits, "-" and "."; an "@", "/" or ":" in a password is written %40, %2F or %3A',
    )
  return host
}

/** True for a host that a certificate names by address, not by name. */
export const isAddress = (host: string): boolean => isIP(host) !== 0
