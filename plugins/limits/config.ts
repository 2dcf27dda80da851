/** Settings of the limits. Nothing is limited until a section is written. Spec: Limits. */
import { Type } from '../../kernel/index.ts'

/** A number above 0. */
const rate = (options: object) => Type.Number({ exclusiveMinimum: 0, ...options })

const clientRate = Type.Object({
  requests_per_second: Type.Optional(
    Type.Number({ minimum: 0, description: 'Its own sustained rate, in cost units per second; 0 exempts it.' }),
  ),
  burst: Type.Optional(rate({ description: 'Its own burst, in cost units.' })),
})

export const rateLimitSection = Type.Object(
  {
    enabled: Type.Boolean({
      default: false,
      description: 'Limits how fast each caller may ask. True as soon as the section is written.',
    }),
    requests_per_second: rate({ default: 50, description: 'Sustained rate of a caller, in cost units per second.' }),
    burst: rate({
      default: 100,
      description: 'Most cost units a caller can spend at once; at least the dearest cost.',
    }),
    auth_failures_per_minute: Type.Integer({
      default: 20,
      minimum: 1,
      maximum: 100_000,
      description: 'Unknown tokens per address in a minute; further ones are refused without being looked up.',
    }),
    max_sync_connections: Type.Integer({
      default: 10,
      minimum: 1,
      description: 'Connections to /sync one caller may hold.',
    }),
    max_live_queries: Type.Integer({ default: 100, minimum: 1, description: 'Live queries of a /sync connection.' }),
    servers: Type.Optional(
      Type.Integer({
        minimum: 1,
        sample: 3,
        description:
          'Servers that share the limits, each taking an equal part. Unset, they count one another through the database; 1 where a balancer sends each caller to one server.',
      }),
    ),
    anonymous_requests_per_second: Type.Optional(
      rate({
        sample: 5,
        description:
          'Sustained rate of an address without a token. Unset, a tenth of requests_per_second where callers have tokens, else the same.',
      }),
    ),
    anonymous_burst: Type.Optional(
      rate({
        sample: 20,
        description:
          'Most cost units an address without a token can spend at once. Unset, a tenth of burst where callers have tokens, else the same.',
      }),
    ),
    clients: Type.Record(Type.String(), clientRate, {
      default: {},
      sample: { 'my-app': { requests_per_second: 200, burst: 400 } },
      description: 'Rates of single clients, by client id.',
    }),
  },
  { whenPresent: { enabled: true } },
)

const cost = (units: number, what: string) =>
  Type.Number({ default: units, minimum: 0, description: `Cost units of ${what}.` })

export const costSection = Type.Object({
  read: cost(1, 'a read'),
  search: cost(2, 'a search, or of an address such as /_usage'),
  write: cost(2, 'a create, update, patch or delete'),
  bundle: cost(5, 'a batch or transaction'),
  operation: cost(5, 'an operation'),
  export: cost(20, 'a start of an export'),
  sync: cost(5, 'a connection to /sync'),
})

/** Names of the quotas: what is limited, and in which period. */
export const QUOTAS = [
  'requests_per_day',
  'writes_per_day',
  'bytes_per_day',
  'requests_per_month',
  'writes_per_month',
  'bytes_per_month',
] as const
export type QuotaName = (typeof QUOTAS)[number]

const WORDS: Readonly<Record<string, string>> = {
  requests: 'Requests a client may make',
  writes: 'Resources a client may create, change or delete',
  bytes: 'Bytes a client may send and receive, on the wire,',
}
const quotas = (least: number, more: string) => {
  const of = (name: QuotaName) => {
    const [what = '', , span] = name.split('_')
    const description = `${WORDS[what]} in a UTC ${span}${more}.`
    return Type.Optional(Type.Integer({ minimum: least, sample: 1_000_000, description }))
  }
  return {
    requests_per_day: of('requests_per_day'),
    writes_per_day: of('writes_per_day'),
    bytes_per_day: of('bytes_per_day'),
    requests_per_month: of('requests_per_month'),
    writes_per_month: of('writes_per_month'),
    bytes_per_month: of('bytes_per_month'),
  }
}

export const quotaSection = Type.Object(
  {
    enabled: Type.Boolean({
      default: false,
      description: 'Limits what a client may use in a UTC day or month. True as soon as the section is written.',
    }),
    ...quotas(1, ''),
    refresh_seconds: Type.Integer({
      default: 30,
      minimum: 1,
      maximum: 3600,
      description: 'Seconds within which the counts of other servers are seen.',
    }),
    most_addresses: Type.Integer({
      default: 10_000,
      minimum: 1,
      maximum: 1_000_000,
      description:
        'Addresses of callers without a token that are counted one by one: of more, the heaviest; the others are summed up in one row.',
    }),
    clients: Type.Record(Type.String(), Type.Object(quotas(0, '; 0 lifts the limit')), {
      default: {},
      sample: { 'my-app': { requests_per_day: 5_000_000 } },
      description: 'Quotas of single clients, by client id; what is left out is as for all.',
    }),
  },
  { whenPresent: { enabled: true } },
)
