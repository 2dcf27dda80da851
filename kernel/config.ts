/** The kernel's own sections of server.toml: [server], [plugins], [log]. */
import { Type } from './settings/type.ts'

/** 0 to 65535 in decimal; 0 lets the system choose. */
const PORT = '(6553[0-5]|655[0-2]\\d|65[0-4]\\d{2}|6[0-4]\\d{3}|[1-5]\\d{4}|\\d{1,4})'

const serverSection = Type.Object({
  bind: Type.String({
    default: '127.0.0.1:8080',
    pattern: `^(\\[[0-9a-fA-F:.]+\\]|[^:\\s]+):${PORT}$`,
    allowed: 'host:port, with a port from 0 to 65535',
    sample: '0.0.0.0:8080',
    env: 'SERVER_BIND',
    flag: 'bind',
    description: 'Listen address. The default is reachable from this machine only.',
  }),
  public_url: Type.Optional(
    Type.String({
      pattern: '^https?://[^\\s?#@/]+(?:/[^\\s?#]*)?$',
      allowed: 'an http or https URL without user name, query and fragment',
      sample: 'https://fhir.example.org',
      env: 'SERVER_PUBLIC_URL',
      flag: 'public-url',
      description:
        "The URL clients reach the server at: base of all links it sends, and the SMART issuer. Only absolute references under it are this server's own. Where it is not set, links start with the Host that was asked, and own references with the address the server listens at.",
    }),
  ),
  memory_bytes: Type.Optional(
    Type.Integer({
      minimum: 128 * 1024 * 1024,
      sample: 512 * 1024 * 1024,
      env: 'SERVER_MEMORY_BYTES',
      flag: 'memory-bytes',
      description:
        "Bytes of memory that the server aims to stay within: SQLite's pages, caches and the heap take shares of it. When unset, 400 MiB, or three quarters of the limit of a container or of the memory of a machine that has less.",
    }),
  ),
  trusted_proxy_hops: Type.Integer({
    default: 0,
    minimum: 0,
    maximum: 100,
    env: 'SERVER_TRUSTED_PROXY_HOPS',
    description:
      'Number of reverse proxies in front. With N, the Nth entry from the right of X-Forwarded-For is the client; 0 ignores that header.',
  }),
  trusted_proxy_peers: Type.Array(Type.String(), {
    default: [],
    sample: ['10.0.0.0/8'],
    env: 'SERVER_TRUSTED_PROXY_PEERS',
    description: 'Network ranges (CIDR) the proxies connect from; X-Forwarded-For is believed only from them.',
  }),
  compress_from_bytes: Type.Integer({
    default: 2048,
    minimum: 0,
    maximum: 2 ** 31 - 1,
    description:
      'Answers of at least so many bytes are compressed with zstd or gzip where the client accepts it: searches, histories, Bundles, results of operations, /metadata, /_audit, /_usage. 0 compresses none, as where a proxy in front does it.',
  }),
})

const pluginsSection = Type.Object({
  load: Type.Array(Type.String({ minLength: 1 }), {
    default: [],
    sample: ['@acme/server-kafka', './mine.js'],
    description:
      'Third-party plugins: package names, or paths relative to the file. Their settings stand under [plugin.<name>].',
  }),
})

const logSection = Type.Object({
  level: Type.Union(
    ['fatal', 'error', 'warn', 'info', 'debug', 'trace'].map((level) => Type.Literal(level)),
    { default: 'info', env: 'SERVER_LOG_LEVEL', flag: 'log-level', description: 'Least severe lines that are logged.' },
  ),
})

export const kernelConfig = { server: serverSection, plugins: pluginsSection, log: logSection }
