/**
 * Errors of the connection to PostgreSQL. They are for the operator (start, log); a client gets DatabaseUnavailable. No
 * message holds a password, nor text that might be one.
 */
import { defineError } from '../../../kernel/index.ts'

// The connection string. Spec: Postgres connection and TLS.

export const StringSyntax = defineError(
  'database/postgres-string',
  500,
  'exception',
  'postgres_url cannot be read: %s. Write postgresql://user:password@host:5432/database, with reserved characters percent-encoded, or host=… user=… pairs.',
)
export const ConninfoParameterUnknown = defineError(
  'database/postgres-parameter-unknown',
  500,
  'exception',
  'postgres_url: there is no connection parameter "%s".',
)
export const ParameterUnsupported = defineError(
  'database/postgres-parameter-unsupported',
  500,
  'exception',
  'postgres_url: the parameter "%s" is not supported by this server (%s); remove it.',
)
export const ParameterTwice = defineError(
  'database/postgres-parameter-twice',
  500,
  'exception',
  'postgres_url: the parameter "%s" is given twice.',
)
export const ConninfoParameterValue = defineError(
  'database/postgres-parameter-value',
  500,
  'exception',
  'postgres_url: %s must be %s.',
)
export const HostMissing = defineError(
  'database/postgres-host-missing',
  500,
  'exception',
  'postgres_url: host must be given: a name, an address, or the directory of a Unix socket.',
)
export const ModeUnknown = defineError(
  'database/postgres-sslmode',
  500,
  'exception',
  'postgres_url: sslmode must be disable, prefer, require, verify-ca or verify-full%s.',
)
export const WeakMode = defineError(
  'database/postgres-direct-weak',
  500,
  'exception',
  'postgres_url: weak sslmode "%s" may not be used with sslnegotiation=direct (use require, verify-ca or verify-full).',
)
export const RootMissing = defineError(
  'database/postgres-sslrootcert-missing',
  500,
  'exception',
  'postgres_url: sslmode=%s needs sslrootcert=<PEM file with the CA certificates>; there is no system trust store to fall back to.',
)
export const FilesWithoutTls = defineError(
  'database/postgres-files-without-tls',
  500,
  'exception',
  'postgres_url: %s is given, but %s never uses TLS; remove it or set sslmode.',
)
export const PairIncomplete = defineError(
  'database/postgres-pair-incomplete',
  500,
  'exception',
  'postgres_url: %s is given without %s; a client certificate needs both.',
)
export const FileRefused = defineError('database/postgres-file', 500, 'exception', 'postgres_url: %s=%s %s.')

// The connection itself.

export const HostUnknown = defineError(
  'database/postgres-host-unknown',
  503,
  'transient',
  'The name %s of the PostgreSQL server cannot be resolved (%s).',
)
export const Unreachable = defineError(
  'database/postgres-unreachable',
  503,
  'transient',
  'There is no connection to PostgreSQL at %s: %s.',
)
export const ConnectTimeout = defineError(
  'database/postgres-connect-timeout',
  503,
  'transient',
  'PostgreSQL at %s did not complete the connection within %s ms (%s).',
)
export const TlsMissing = defineError(
  'database/postgres-tls-missing',
  503,
  'transient',
  'PostgreSQL at %s: the server does not support SSL, but sslmode=%s requires it.',
)
export const TlsAnswer = defineError(
  'database/postgres-tls-answer',
  503,
  'transient',
  'PostgreSQL at %s did not answer the request for TLS as a server should: %s.',
)
export const TlsInjected = defineError(
  'database/postgres-tls-injected',
  503,
  'transient',
  'PostgreSQL at %s: unencrypted data came with the answer to the request for TLS. Someone between may be injecting it (CVE-2021-23222); the connection was refused.',
)
export const TlsFailed = defineError(
  'database/postgres-tls-failed',
  503,
  'transient',
  'TLS with PostgreSQL at %s failed: %s.',
)
export const TlsDirect = defineError(
  'database/postgres-tls-direct',
  503,
  'transient',
  'TLS with PostgreSQL at %s failed: %s. sslnegotiation=direct needs PostgreSQL 17 or later; there is no fall back.',
)
export const NameMismatch = defineError(
  'database/postgres-name-mismatch',
  503,
  'transient',
  'PostgreSQL at %s: the server certificate is not valid for "%s"; its subjectAltName holds %s.',
)
export const ServerRefused = defineError(
  'database/postgres-refused',
  503,
  'transient',
  'PostgreSQL at %s refused the connection: %s (%s).',
)
export const PasswordMissing = defineError(
  'database/postgres-password-missing',
  503,
  'transient',
  'PostgreSQL asks for a password and postgres_url holds none.',
)
export const SessionUnsuitable = defineError(
  'database/postgres-session-attrs',
  503,
  'transient',
  'PostgreSQL at %s is not what target_session_attrs=%s asks for.',
)

export const NoneUsable = defineError(
  'database/postgres-none-usable',
  503,
  'transient',
  'None of the PostgreSQL hosts can be used. %s',
)

// The pool.

export const PoolExhausted = defineError(
  'database/pool-exhausted',
  503,
  'transient',
  'The database is busy: no connection became free in time. Try again.',
)
export const PoolClosed = defineError('database/pool-closed', 503, 'transient', 'The server is stopping.')

// Transactions.

export const CommitUnknown = defineError(
  'database/commit-unknown',
  503,
  'transient',
  'The connection to the database was lost during the commit: the change may or may not have been stored. Look before you try again.',
)
export const TooManyConnections = defineError(
  'database/too-many-connections',
  503,
  'transient',
  'The database takes no more connections; nothing was stored. Try again.',
)
export const EncodingUnsuitable = defineError(
  'database/postgres-encoding',
  500,
  'exception',
  'The PostgreSQL database "%s" has the encoding %s; this server needs UTF8. Create it with ENCODING %s.',
)
export const ReadOnlyServer = defineError(
  'database/postgres-read-only',
  500,
  'exception',
  'The PostgreSQL database "%s" is read-only (%s). Name the primary, or several hosts with target_session_attrs=read-write.',
)
export const SchemaMissing = defineError(
  'database/postgres-schema-missing',
  500,
  'exception',
  'In the PostgreSQL database "%s" search_path (%s) names no schema that exists. Create the schema, or take search_path out of the URL or the role.',
)
export const RightsMissing = defineError(
  'database/postgres-rights-missing',
  500,
  'exception',
  'The role "%s" may not create tables in the schema %s of the PostgreSQL database "%s". As the owner of the schema run: GRANT USAGE, CREATE ON SCHEMA %s TO %s;',
)
