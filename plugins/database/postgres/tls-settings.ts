/**
 * The TLS parameters of a connection string, and every combination that is refused at start.
 * Spec: Postgres connection and TLS, 1 to 8.
 */
import {
  ConninfoParameterValue,
  FilesWithoutTls,
  ModeUnknown,
  PairIncomplete,
  RootMissing,
  WeakMode,
} from './errors.ts'
import type { Parameters } from './parameters.ts'

const MODES = ['disable', 'prefer', 'require', 'verify-ca', 'verify-full'] as const
const FILES = ['sslrootcert', 'sslcert', 'sslkey'] as const

export type TlsMode = (typeof MODES)[number]

export interface TlsSettings {
  readonly mode: TlsMode
  /** TLS from the first byte, without an SSLRequest in the clear. PostgreSQL 17. */
  readonly direct: boolean
  /** Paths as given. */
  readonly sslrootcert: string | undefined
  readonly sslcert: string | undefined
  readonly sslkey: string | undefined
  /** The chain must lead to sslrootcert. */
  readonly verifyChain: boolean
  /** The certificate must name the host. */
  readonly verifyName: boolean
}

/** Without sslmode there is no TLS, whatever PGSSLMODE says. */
export const readTlsSettings = (parameters: Parameters): TlsSettings => {
  const mode = readMode(parameters.get('sslmode'))
  for (const name of FILES) {
    const path = parameters.get(name)
    if (path === undefined) continue
    if (path === '') throw ConninfoParameterValue(name, 'the path of a file')
    if (mode === 'disable')
      throw FilesWithoutTls(name, parameters.has('sslmode') ? 'sslmode=disable' : 'a connection without sslmode')
  }
  const sslrootcert = parameters.get('sslrootcert')
  const sslcert = parameters.get('sslcert')
  const sslkey = parameters.get('sslkey')
  if (sslrootcert === 'system') throw ConninfoParameterValue('sslrootcert', 'a file: there is no system trust store')
  if (sslcert === undefined && sslkey !== undefined) throw PairIncomplete('sslkey', 'sslcert')
  if (sslkey === undefined && sslcert !== undefined) throw PairIncomplete('sslcert', 'sslkey')
  const verifies = mode === 'verify-ca' || mode === 'verify-full'
  if (verifies && sslrootcert === undefined) throw RootMissing(mode)

  const direct = readNegotiation(parameters.get('sslnegotiation'))
  if (direct && (mode === 'disable' || mode === 'prefer')) throw WeakMode(mode)
  return {
    mode,
    direct,
    sslrootcert,
    sslcert,
    sslkey,
    verifyChain: verifies || (mode === 'require' && sslrootcert !== undefined),
    verifyName: mode === 'verify-full',
  }
}

const readMode = (value: string | undefined): TlsMode => {
  if (value === undefined) return 'disable'
  if ((MODES as readonly string[]).includes(value)) return value as TlsMode
  if (value === 'allow') throw ModeUnknown('; allow is not supported')
  throw ModeUnknown(MODES.some((mode) => mode === value.toLowerCase()) ? ', in lower case' : '')
}

const readNegotiation = (value: string | undefined): boolean => {
  if (value === undefined || value === 'postgres') return false
  if (value === 'direct') return true
  throw ConninfoParameterValue('sslnegotiation', 'postgres or direct')
}
