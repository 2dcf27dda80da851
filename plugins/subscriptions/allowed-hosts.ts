/** Checks endpoints of rest-hooks: hosts must be in `[subscriptions] rest_hook_hosts`, and so must private addresses. */
import { isIP } from 'node:net'
import { isSpecialAddress } from '../../kernel/index.ts'

const LOOPBACK = /^(?:127(?:\.\d{1,3}){3}|::1|localhost)$/
const DEFAULT_PORTS: Readonly<Record<string, string>> = { 'https:': '443', 'http:': '80' }

/** The host of a URL without the brackets of IPv6. */
export const bareHost = ({ hostname }: URL): string => hostname.replace(/^\[(.*)\]$/, '$1')

export interface AllowedHosts {
  /** Why the endpoint is refused, without repeating it, as it may hold a secret; undefined where it may be used. */
  fault(endpoint: string): string | undefined
  /** Whether a connection to this address may be opened: it is public, or is listed itself. */
  allowsAddress(address: string): boolean
}

const splitEntry = (entry: string): { readonly host: string; readonly port: string | undefined } => {
  const [, bracketed, plain, port] = /^(?:\[(.+)\]|([^:]+))(?::(\d+))?$/.exec(entry) ?? []
  return { host: bracketed ?? plain ?? '', port }
}

export const createAllowedHosts = (entries: readonly string[], allowsHttp: boolean): AllowedHosts => {
  const hosts = entries.map(splitEntry)
  const addresses = new Set(hosts.flatMap(({ host }) => (isIP(host) === 0 ? [] : [host])))
  // The setting may write an IPv6 address in another form than the connection.
  const normal = new Set([...addresses].map((one) => (isIP(one) === 6 ? bareHost(new URL(`http://[${one}]/`)) : one)))
  const allowsAddress = (address: string): boolean => !isSpecialAddress(address) || normal.has(address)
  return {
    allowsAddress,
    fault(endpoint) {
      const url = URL.parse(endpoint)
      if (url === null || !/^https?:\/\//i.test(endpoint) || /[\s\\]/.test(endpoint))
        return 'channel.endpoint is no https URL'
      const { protocol, username, password, hash, port } = url
      const host = bareHost(url)
      if (username !== '' || password !== '' || hash !== '' || endpoint.includes('#'))
        return 'channel.endpoint has a user, a password or a fragment; send secrets in channel.header'
      if (protocol === 'http:' && !allowsHttp && !LOOPBACK.test(host)) return 'channel.endpoint has to be an https URL'
      const requested = port === '' ? DEFAULT_PORTS[protocol] : port
      const isListed = hosts.some((one) => {
        const own = isIP(one.host) === 6 ? bareHost(new URL(`http://[${one.host}]/`)) : one.host
        return own === host && (one.port ?? DEFAULT_PORTS[protocol]) === requested
      })
      if (!isListed)
        return 'the host and port of channel.endpoint are not among those that the operator allows with [subscriptions] rest_hook_hosts'
      if (isIP(host) !== 0 && !allowsAddress(host)) return 'channel.endpoint leads to an address that is not public'
      return undefined
    },
  }
}
