/** [database] and the pool. Spec: Configuration settings. */
import { Type } from '../../kernel/index.ts'

export const databaseSection = Type.Object({
  kind: Type.Union([Type.Literal('sqlite'), Type.Literal('memory'), Type.Literal('postgres')], {
    default: 'sqlite',
    flagValues: { memory: 'memory' },
    description:
      'Kind of database: one SQLite file, SQLite in memory that leaves no file, or a PostgreSQL server. Where it is not set, postgres_url or sqlite_path chooses it.',
  }),
  sqlite_path: Type.String({
    default: 'refhir.sqlite',
    minLength: 1,
    flag: 'sqlite',
    flagSets: { 'database.kind': 'sqlite' },
    implies: { 'database.kind': 'sqlite' },
    description: 'Path of the SQLite file, relative to the working directory.',
  }),
  sqlite_mmap_size: Type.Integer({
    default: 2 * 1024 ** 3,
    minimum: 0,
    description:
      'Most bytes of the SQLite file that are read from mapped memory, up to 2 GiB, which is faster. With 0 all is read by system calls: then an error of the disk is an answer with status 503, where otherwise the operating system ends the process.',
  }),
  postgres_url: Type.Optional(
    Type.String({
      minLength: 1,
      secret: true,
      env: 'SERVER_POSTGRES_URL',
      flag: 'postgres',
      flagSets: { 'database.kind': 'postgres' },
      implies: { 'database.kind': 'postgres' },
      description:
        'PostgreSQL connection: postgresql://user:password@host:5432/database or libpq key=value pairs. TLS parameters are inside; with no sslmode there is no TLS. Chooses the kind postgres where kind is not set.',
    }),
  ),
})

export const clusterSection = Type.Object({
  db_pool: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 1000,
      env: 'SERVER_DB_POOL',
      flag: 'db-pool',
      description:
        'Most connections to PostgreSQL (8 when unset); for SQLite, the read connections next to the one writer (4 when unset).',
    }),
  ),
})

export const fhirDatabaseKeys = Type.Object({
  version: Type.Union([Type.Literal('r4')], {
    default: 'r4',
    description: 'FHIR release. Pinned per database: an existing database cannot be pointed at another release.',
  }),
})
