/**
 * The certificate files of a connection: checked at start, re-read whenever a modification time changes, so that a
 * renewed certificate needs no restart. Spec: Postgres connection and TLS, 1 to 3.
 */
import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto'
import { readFile, stat } from 'node:fs/promises'
import { createSecureContext, type SecureContext } from 'node:tls'
import type { Logger } from '../../../kernel/index.ts'
import { FileRefused } from './errors.ts'
import type { TlsSettings } from './tls-settings.ts'

const MIN_VERSION = 'TLSv1.2'

type FileName = 'sslrootcert' | 'sslcert' | 'sslkey'

export interface TlsFiles {
  /**
   * The context for the next handshake. The first call throws FileRefused for a file that cannot be used; later ones
   * return the previous context, warn once and try again at the next connection.
   */
  current(): Promise<SecureContext>
}

interface Loaded {
  readonly context: SecureContext
  /** Modification time in nanoseconds of each file, taken before it was read. */
  readonly times: ReadonlyMap<FileName, bigint>
}

export const createTlsFiles = (settings: TlsSettings, log: Logger): TlsFiles => {
  const paths = new Map<FileName, string>()
  for (const name of ['sslrootcert', 'sslcert', 'sslkey'] as const) {
    const path = settings[name]
    if (path !== undefined) paths.set(name, path)
  }
  let loaded: Loaded | undefined
  let isStale = false // the last attempt to re-read failed
  let reading: Promise<SecureContext> | undefined

  const hasChanged = async ({ times }: Loaded): Promise<boolean> => {
    for (const [name, path] of paths) if ((await statFile(name, path)).mtimeNs !== times.get(name)) return true
    return false
  }
  const refresh = async (): Promise<SecureContext> => {
    if (loaded === undefined) {
      loaded = await load(paths)
      return loaded.context
    }
    try {
      if (await hasChanged(loaded)) loaded = await load(paths)
      isStale = false
    } catch (error) {
      if (!isStale)
        log.warn({ err: error }, 'the certificate files changed and cannot be used: the old ones stay in use')
      isStale = true
    }
    return loaded.context
  }
  return {
    current() {
      reading ??= refresh().finally(() => {
        reading = undefined
      })
      return reading
    },
  }
}

const load = async (paths: ReadonlyMap<FileName, string>): Promise<Loaded> => {
  const times = new Map<FileName, bigint>()
  const texts = new Map<FileName, string>()
  for (const [name, path] of paths) {
    const { mtimeNs, mode, uid, isFile } = await statFile(name, path)
    if (!isFile) throw FileRefused(name, path, 'is not a regular file')
    if (name === 'sslkey') checkPermissions(path, mode, uid)
    times.set(name, mtimeNs)
    texts.set(name, await readText(name, path))
  }
  const ca = readCertificates('sslrootcert', paths, texts)
  const chain = readCertificates('sslcert', paths, texts)
  const key = texts.get('sslkey')
  if (key !== undefined && chain !== undefined) checkPair(paths, key, chain[0]!)
  const context = createSecureContext({
    minVersion: MIN_VERSION,
    // An empty list, not undefined, where nothing is to be trusted: with undefined Node uses its own trust store.
    ca: ca?.map(String) ?? [],
    ...(key === undefined || chain === undefined ? {} : { key, cert: chain.map(String).join('') }),
  })
  return { context, times }
}

const statFile = async (name: FileName, path: string) => {
  try {
    const found = await stat(path, { bigint: true })
    return { mtimeNs: found.mtimeNs, mode: Number(found.mode), uid: Number(found.uid), isFile: found.isFile() }
  } catch (error) {
    throw FileRefused(name, path, `cannot be read (${codeOf(error)})`).with({ cause: error })
  }
}

const readText = async (name: FileName, path: string): Promise<string> => {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    throw FileRefused(name, path, `cannot be read (${codeOf(error)})`).with({ cause: error })
  }
}

/** Every certificate of a PEM file, in its order; a block that is cut off or damaged refuses the file. */
const readCertificates = (
  name: FileName,
  paths: ReadonlyMap<FileName, string>,
  texts: ReadonlyMap<FileName, string>,
): readonly X509Certificate[] | undefined => {
  const text = texts.get(name)
  if (text === undefined) return undefined
  const path = paths.get(name)!
  // The file may also hold a key, but no block without its end.
  const isCut = text.split('-----BEGIN').length - 1 !== (text.match(/-----END [A-Z0-9 ]+-----/g)?.length ?? 0)
  const blocks = text.match(/-----BEGIN (?:X509 )?CERTIFICATE-----[^-]*-----END (?:X509 )?CERTIFICATE-----/g) ?? []
  if (blocks.length === 0) throw FileRefused(name, path, 'holds no certificate in PEM form')
  if (isCut) throw FileRefused(name, path, 'holds a PEM block that is cut off')
  return blocks.map((block, index) => {
    try {
      return new X509Certificate(block)
    } catch (error) {
      throw FileRefused(name, path, `is damaged at its certificate number ${index + 1}`).with({ cause: error })
    }
  })
}

/** libpq's rule: only the owner may have access, or root's group where root owns the file. */
const checkPermissions = (path: string, mode: number, uid: number): void => {
  if (process.platform === 'win32') return
  if ((mode & (uid === 0 ? 0o037 : 0o077)) !== 0)
    throw FileRefused(
      'sslkey',
      path,
      'has group or world access; its permissions must be 0600 or less, or 0640 or less if root owns it',
    )
}

const checkPair = (paths: ReadonlyMap<FileName, string>, pem: string, certificate: X509Certificate): void => {
  const path = paths.get('sslkey')!
  if (/-----BEGIN ENCRYPTED PRIVATE KEY-----|^Proc-Type: 4,ENCRYPTED/m.test(pem))
    throw FileRefused('sslkey', path, 'is encrypted; this server has no passphrase for it, so give it unencrypted')
  let key: KeyObject
  try {
    key = createPrivateKey(pem)
  } catch (error) {
    throw FileRefused('sslkey', path, `holds no private key in PEM form (${codeOf(error)})`)
  }
  if (!certificate.checkPrivateKey(key))
    throw FileRefused('sslkey', path, `is not the key of the certificate in ${paths.get('sslcert')}`)
}

const codeOf = (error: unknown): string => (error as { code?: string }).code ?? 'unknown reason'
