/** RSA keys of 2,048 bits, made once for a run of tests: making one takes a tenth of a second of CPU time. */
import { createPrivateKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const BITS = 2048

const known = new Map<number, KeyObject>()

/** The processes of one run share a folder, which the runner removes. */
const fileOf = (at: number): string | undefined => {
  const folder = process.env.REFHIR_TEST_RUN
  return folder === undefined ? undefined : join(folder, `rsa-${at}.pem`)
}

const make = (at: number): KeyObject => {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: BITS })
  const file = fileOf(at)
  if (file !== undefined) {
    writeFileSync(`${file}.${process.pid}`, privateKey.export({ format: 'pem', type: 'pkcs8' }))
    renameSync(`${file}.${process.pid}`, file)
  }
  return privateKey
}

/** The private key of this number: the same for all who ask in a run, but for processes that ask for it at the same moment. */
export const rsaKey = (at: number): KeyObject => {
  const file = fileOf(at)
  const key =
    known.get(at) ?? (file !== undefined && existsSync(file) ? createPrivateKey(readFileSync(file)) : make(at))
  known.set(at, key)
  return key
}
