/** RSA keys of 2,048 bits, made once for a run of tests: making one takes a tenth of a second of CPU time. */
import { createPrivateKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { readRunFile, writeRunFile } from './run-file.ts'

const BITS = 2048

const known = new Map<number, KeyObject>()

const fileOf = (at: number): string => `rsa-${at}.pem`

const make = (at: number): KeyObject => {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: BITS })
  writeRunFile(fileOf(at), privateKey.export({ format: 'pem', type: 'pkcs8' }) as string)
  return privateKey
}

/** The private key of this number: the same for all who ask in a run, but for processes that ask for it at the same moment. */
export const rsaKey = (at: number): KeyObject => {
  let key = known.get(at)
  if (key === undefined) {
    const made = readRunFile(fileOf(at))
    key = made === undefined ? make(at) : createPrivateKey(made)
    known.set(at, key)
  }
  return key
}
