/**
 * Collects metrics: requests by class and status, the process, the database.
 * https://prometheus.io/docs/practices/naming/
 */
import type { Registry } from 'prom-client'
import type { Usage } from '../../kernel/index.ts'
import type { Database, DatabaseStatus } from '../database/service.ts'

/** Bounds in seconds, from a cached read to requests whose client has given up. */
const BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

export interface MetricsCollector {
  /** Loads prom-client here, so that a server without metrics does not load it. */
  start(): Promise<void>
  measure(usage: Usage): void
  /** The metrics in the text format of Prometheus, and its media type. */
  text(): Promise<{ readonly type: string; readonly body: string }>
}

type Prometheus = typeof import('prom-client')

/** Registers metrics of requests, durations and bytes. Returns the function that adds a request to them. */
const addRequests = ({ Counter, Histogram }: Prometheus, registry: Registry): ((usage: Usage) => void) => {
  const registers = [registry]
  const of = ['class', 'status'] as const
  const requests = new Counter({ name: 'http_requests_total', help: 'Requests answered.', labelNames: of, registers })
  const seconds = new Histogram({
    name: 'http_request_duration_seconds',
    help: 'From the first byte of a request to the last of its answer.',
    labelNames: of,
    buckets: BUCKETS,
    registers,
  })
  const bytes = (name: string, help: string) => new Counter({ name, help, labelNames: ['class'], registers })
  const received = bytes('http_request_bytes_total', 'Bytes received, on the wire.')
  const sent = bytes('http_response_bytes_total', 'Bytes sent, on the wire.')
  return ({ request: { requestClass }, status, bytesIn, bytesOut, duration }) => {
    requests.labels(requestClass, String(status)).inc()
    seconds.labels(requestClass, String(status)).observe(duration / 1000)
    received.labels(requestClass).inc(bytesIn)
    sent.labels(requestClass).inc(bytesOut)
  }
}

/** Registers metrics of the database, which are read at each request of /metrics. */
const addDatabase = ({ Gauge }: Prometheus, registry: Registry, database: Database): void => {
  const gauge = (name: string, help: string, read: (status: DatabaseStatus) => number): void => {
    new Gauge({
      name,
      help,
      registers: [registry],
      collect() {
        this.set(read(database.status()))
      },
    })
  }
  gauge('database_pool_size', 'Connections, or reader threads, there may be.', ({ pool }) => pool.size)
  gauge('database_pool_busy', 'Connections, or reader threads, at work.', ({ pool }) => pool.busy)
  gauge('database_pool_waiting', 'Queries that wait for one.', ({ pool }) => pool.waiting)
  gauge('database_transactions', 'Transactions committed since the start.', ({ commits }) => commits.transactions)
  gauge(
    'cluster_epoch',
    'How often a server of this database became primary; 0 if unknown.',
    ({ feed }) => feed?.epoch ?? 0,
  )
  gauge(
    'cluster_seq',
    'Number of the last commit this server has published to its caches.',
    ({ feed }) => feed?.seq ?? 0,
  )
  gauge('cluster_lag', 'Commits it knows of and has not published to its caches yet.', ({ feed }) => feed?.lag ?? 0)
  gauge('database_commits', 'Commits they shared since the start.', ({ commits }) => commits.groups)
}

/** Requests are counted from `start` on; before that the server answers only 503. */
export const createMetricsCollector = (database: Database | undefined): MetricsCollector => {
  let registry: Registry | undefined
  let add: ((usage: Usage) => void) | undefined
  return {
    async start() {
      const { default: prometheus } = await import('prom-client')
      registry = new prometheus.Registry()
      prometheus.collectDefaultMetrics({ register: registry })
      add = addRequests(prometheus, registry)
      if (database !== undefined) addDatabase(prometheus, registry, database)
    },
    measure: (usage) => add?.(usage),
    text: async () => ({ type: registry?.contentType ?? '', body: (await registry?.metrics()) ?? '' }),
  }
}
