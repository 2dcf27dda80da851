/** Makes certificates for tests: authorities, intermediates, server and client certificates, valid and invalid ones. */
import { createPrivateKey, webcrypto } from 'node:crypto'
import 'reflect-metadata' // required by @peculiar/x509
import * as x509 from '@peculiar/x509'

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }
const DAY_MS = 86_400_000

export interface Issued {
  /** PEM. */
  readonly certificate: string
  /** PKCS#8 PEM. */
  readonly key: string
  /** The same key, encrypted. */
  encryptedKey(passphrase: string): string
  /** Issues a certificate under this one. */
  issue(subject: Subject): Promise<Issued>
}

export interface Subject {
  readonly cn?: string
  /** subjectAltName; none when absent or empty. */
  readonly dns?: readonly string[]
  readonly ip?: readonly string[]
  readonly isCa?: boolean
  /** Days from now; without both, the certificate is valid from yesterday for a month. */
  readonly from?: number
  readonly to?: number
}

// Its types expect the browser's Crypto.
const provider = webcrypto as any

const make = async (
  subject: Subject,
  issuer: { name: string; key: webcrypto.CryptoKey } | undefined,
): Promise<Issued> => {
  const keys = (await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify'])) as webcrypto.CryptoKeyPair
  const name = subject.cn === undefined ? 'O=test' : `CN=${subject.cn}`
  const names = [
    ...(subject.dns ?? []).map((value) => ({ type: 'dns' as const, value })),
    ...(subject.ip ?? []).map((value) => ({ type: 'ip' as const, value })),
  ]
  const made = await x509.X509CertificateGenerator.create(
    {
      serialNumber: Buffer.from(
        webcrypto.getRandomValues(new Uint8Array(8)).map((byte, at) => (at === 0 ? 1 : byte)),
      ).toString('hex'),
      subject: name,
      issuer: issuer?.name ?? name,
      notBefore: new Date(Date.now() + (subject.from ?? -1) * DAY_MS),
      notAfter: new Date(Date.now() + (subject.to ?? 30) * DAY_MS),
      signingAlgorithm: ALGORITHM,
      publicKey: keys.publicKey,
      signingKey: issuer?.key ?? keys.privateKey,
      extensions: [
        new x509.BasicConstraintsExtension(subject.isCa === true, undefined, true),
        ...(subject.isCa
          ? [new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true)]
          : []),
        ...(names.length === 0 ? [] : [new x509.SubjectAlternativeNameExtension(names)]),
        await x509.SubjectKeyIdentifierExtension.create(keys.publicKey, false, provider),
      ],
    },
    provider,
  )
  const pkcs8 = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey))
  const key = createPrivateKey({ key: pkcs8, format: 'der', type: 'pkcs8' })
  return {
    certificate: `${made.toString('pem')}\n`,
    key: key.export({ type: 'pkcs8', format: 'pem' }) as string,
    encryptedKey: (passphrase) =>
      key.export({ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase }) as string,
    issue: (next) => make(next, { name, key: keys.privateKey }),
  }
}

/** A self-signed authority. */
export const createAuthority = (cn: string): Promise<Issued> => make({ cn, isCa: true }, undefined)

/** A self-signed certificate that is not an authority. */
export const createSelfSigned = (subject: Subject): Promise<Issued> => make(subject, undefined)
